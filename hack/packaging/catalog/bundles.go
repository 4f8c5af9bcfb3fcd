// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
)

// findBundles lists what is published, oldest first, and then the current bundle unless that version is published already. An
// image of each is made of its folder; that of a published one must have the digest under which it was published.
func findBundles(top, current string) ([]bundle.Bundle, error) {
	folders, err := filepath.Glob(filepath.Join(top, "releases", "v*", "manifests"))
	if err != nil {
		return nil, err
	}
	var all []bundle.Bundle
	for _, folder := range folders {
		b, err := bundle.Read(filepath.Dir(folder))
		if err != nil {
			return nil, err
		}
		if b.Published == "" {
			return nil, fmt.Errorf("%s names no image: only what is published may be in releases/", b.Folder)
		}
		all = append(all, b)
	}
	b, err := bundle.Read(current)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	case !slices.ContainsFunc(all, func(other bundle.Bundle) bool { return other.Version.EQ(b.Version) }):
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b bundle.Bundle) int { return a.Version.Compare(b.Version) })
	return all, nil
}

// server is a registry that lives as long as the rendering, on a port of its own.
type server struct {
	host string
	http *http.Server
}

// serve serves the images of bundles. The map has their names there, and what they are called where they are published.
func serve(ctx context.Context, bundles []bundle.Bundle, repository string) (*server, map[string]string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	s := &server{host: listener.Addr().String()}
	s.http = &http.Server{
		Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = s.http.Serve(listener) }()
	names := map[string]string{}
	for _, b := range bundles {
		here, there, err := s.add(ctx, b, repository)
		if err != nil {
			s.stop()
			return nil, nil, err
		}
		names[here] = there
	}
	return s, names, nil
}

func (s *server) stop() { _ = s.http.Close() }

// add serves a bundle and returns its name here, and the name for the catalog.
func (s *server) add(ctx context.Context, b bundle.Bundle, repository string) (here, there string, err error) {
	index, err := b.Image(bundle.Platforms)
	if err != nil {
		return "", "", fmt.Errorf("build the image of %s: %w", b.Name, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return "", "", fmt.Errorf("digest of %s: %w", b.Name, err)
	}
	there = repository + "@" + digest.String()
	if b.Published != "" {
		there = b.Published
	}
	if !strings.HasSuffix(there, "@"+digest.String()) {
		return "", "", fmt.Errorf("%s was published as %s, and its files now make %s: a published bundle never changes", b.Folder, there, digest)
	}
	ref, err := name.NewDigest(s.host + "/" + b.Version.String() + "@" + digest.String())
	if err != nil {
		return "", "", err
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(ctx)); err != nil {
		return "", "", fmt.Errorf("serve %s: %w", b.Name, err)
	}
	return ref.String(), there, nil
}
