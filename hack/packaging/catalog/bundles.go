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
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/blang/semver/v4"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

// bundle is a folder with a version of the operator.
type bundle struct {
	folder, name, version string
	icon                  entry
}

// findBundles lists what is released, oldest first, and then the current bundle unless that version is released already.
func findBundles(top, current string) ([]bundle, error) {
	folders, err := filepath.Glob(filepath.Join(top, "releases", "v*", "manifests"))
	if err != nil {
		return nil, err
	}
	var all []bundle
	for _, folder := range append(folders, filepath.Join(current, "manifests")) {
		b, err := readBundle(filepath.Dir(folder))
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case !slices.ContainsFunc(all, func(other bundle) bool { return other.version == b.version }):
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b bundle) int { return semver.MustParse(a.version).Compare(semver.MustParse(b.version)) })
	return all, nil
}

func readBundle(folder string) (bundle, error) {
	files, err := filepath.Glob(filepath.Join(folder, "manifests", "*.clusterserviceversion.yaml"))
	if err != nil {
		return bundle{}, err
	}
	if len(files) != 1 {
		return bundle{}, fmt.Errorf("%s: want one *.clusterserviceversion.yaml: %w", folder, os.ErrNotExist)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		return bundle{}, err
	}
	var csv struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			Version string  `json:"version"`
			Icon    []entry `json:"icon"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(raw, &csv); err != nil {
		return bundle{}, fmt.Errorf("%s: %w", files[0], err)
	}
	if _, err := semver.Parse(csv.Spec.Version); err != nil {
		return bundle{}, fmt.Errorf("%s: spec.version: %w", files[0], err)
	}
	b := bundle{folder: folder, name: csv.Metadata.Name, version: csv.Spec.Version}
	if len(csv.Spec.Icon) > 0 {
		b.icon = csv.Spec.Icon[0]
	}
	return b, nil
}

// server is a registry that lives as long as the rendering, on a port of its own.
type server struct {
	host string
	http *http.Server
}

// serve builds the image of each bundle that the template names and serves it under that name.
func serve(ctx context.Context, bundler, scratch string, images []string, bundles []bundle) (*server, error) {
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
		if err := s.add(ctx, bundler, filepath.Join(scratch, "bundle-"+tag(image)), image, bundles); err != nil {
			s.stop()
			return nil, err
		}
	}
	return s, nil
}

func (s *server) stop() { _ = s.http.Close() }

func (s *server) add(ctx context.Context, bundler, folder, image string, bundles []bundle) error {
	i := slices.IndexFunc(bundles, func(b bundle) bool { return tag(image) == "v"+b.version })
	if i < 0 {
		return fmt.Errorf("the template names %s, but there is no such bundle in releases/ or bundle/", image)
	}
	command := exec.CommandContext(ctx, bundler, "image", "-source="+bundles[i].folder, "-layout="+folder)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", image, err, strings.TrimSpace(string(out)))
	}
	index, err := laid(folder)
	if err != nil {
		return fmt.Errorf("read %s: %w", folder, err)
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
