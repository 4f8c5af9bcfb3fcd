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

// findBundles lists what is released, oldest first, and then the current bundle unless that version is released already.
func findBundles(top, current string) ([]bundle.Bundle, error) {
	folders, err := filepath.Glob(filepath.Join(top, "releases", "v*", "manifests"))
	if err != nil {
		return nil, err
	}
	var all []bundle.Bundle
	for _, folder := range append(folders, filepath.Join(current, "manifests")) {
		b, err := bundle.Read(filepath.Dir(folder))
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case !slices.ContainsFunc(all, func(other bundle.Bundle) bool { return other.Version.EQ(b.Version) }):
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b bundle.Bundle) int { return a.Version.Compare(b.Version) })
	return all, nil
}

// server is a registry that lives as long as the rendering, on a port of its own.
type server struct {
	host string
	http *http.Server
}

// serve builds the image of each bundle that the template names and serves it under that name.
func serve(ctx context.Context, images []string, bundles []bundle.Bundle) (*server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{host: listener.Addr().String()}
	s.http = &http.Server{
		Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0))), ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = s.http.Serve(listener) }()
	for _, image := range images {
		if err := s.add(ctx, image, bundles); err != nil {
			s.stop()
			return nil, err
		}
	}
	return s, nil
}

func (s *server) stop() { _ = s.http.Close() }

func (s *server) add(ctx context.Context, image string, bundles []bundle.Bundle) error {
	i := slices.IndexFunc(bundles, func(b bundle.Bundle) bool { return tag(image) == "v"+b.Version.String() })
	if i < 0 {
		return fmt.Errorf("the template names %s, but there is no such bundle in releases/ or bundle/", image)
	}
	index, err := bundles[i].Image(bundle.Platforms)
	if err != nil {
		return fmt.Errorf("build %s: %w", image, err)
	}
	ref, err := name.ParseReference(s.host + "/" + image)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(ctx)); err != nil {
		return fmt.Errorf("serve %s: %w", image, err)
	}
	return nil
}

// isLoopback tells a registry on this machine, which speaks plain HTTP.
func isLoopback(host string) bool {
	address, _, _ := strings.Cut(host, "/")
	if bare, _, err := net.SplitHostPort(address); err == nil {
		address = bare
	}
	ip := net.ParseIP(address)
	return address == "localhost" || ip != nil && ip.IsLoopback()
}
