// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/operator-framework/operator-registry/pkg/cache"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

func TestTheImageServesTheCatalogAndIsReproducible(t *testing.T) {
	r := checkout(t)
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	programs := t.TempDir()
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		if err := os.MkdirAll(filepath.Join(programs, platform), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, program := range []string{"opm", "grpc-health-probe"} {
			write(t, filepath.Join(programs, platform, program), platform+" "+program)
		}
	}
	var digests []string
	for range 2 {
		p := packing{
			components: "../../components/cluster", catalog: r.out, programs: programs, platforms: []string{"linux/amd64", "linux/arm64"},
			to: oci.Destination{Layout: filepath.Join(t.TempDir(), "layout"), Digest: filepath.Join(t.TempDir(), "digest")},
		}
		if err := p.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		digest, err := os.ReadFile(p.to.Digest)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, string(digest))
		look(t, p)
	}
	if digests[0] != digests[1] {
		t.Errorf("the same catalog became %s and %s", digests[0], digests[1])
	}
}

func look(t *testing.T, p packing) {
	t.Helper()
	index, err := oci.ReadLayout(p.to.Layout)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Fatalf("want two platforms, got %v (%v)", manifest, err)
	}
	for _, descriptor := range manifest.Manifests {
		image, err := index.Image(descriptor.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Config.Labels["operators.operatorframework.io.index.configs.v1"] != "/configs" {
			t.Errorf("%s: the label by which OLM finds the catalog is missing", descriptor.Platform)
		}
		if title := config.Config.Labels["org.opencontainers.image.title"]; title != "etcd-operator-catalog" {
			t.Errorf("%s: the image is called %q", descriptor.Platform, title)
		}
		files := extracted(t, image)
		for name, want := range map[string]tar.Header{
			"configs": {Mode: 0o755}, "configs/etcd-operator/bundles.yaml": {Mode: 0o644},
			"tmp/cache/digest": {Mode: 0o640, Uid: user}, "tmp/cache/cache/packages.json": {Mode: 0o640, Uid: user},
			"bin/opm": {Mode: 0o755}, "bin/grpc_health_probe": {Mode: 0o755},
			"licenses/std/LICENSE": {Mode: 0o644},
		} {
			if got, found := files[name]; !found || got.Uid != want.Uid || got.Gid != 0 || got.Mode != want.Mode {
				t.Errorf("%s: %s is of %d:%d with mode %o (there: %v)", descriptor.Platform, name, got.Uid, got.Gid, got.Mode, found)
			}
		}
	}
}

// extracted unpacks an image as a node does, and looks whether its cache is whole, as opm does when it starts.
func extracted(t *testing.T, image v1.Image) map[string]tar.Header {
	t.Helper()
	content := mutate.Extract(image)
	defer content.Close()
	root := t.TempDir()
	files := map[string]tar.Header{}
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = *header
		unpack(t, filepath.Join(root, header.Name), header, archive)
	}
	served, err := cache.New(filepath.Join(root, "tmp/cache"))
	if err != nil {
		t.Fatal(err)
	}
	defer served.Close()
	if err := errors.Join(served.CheckIntegrity(t.Context(), os.DirFS(filepath.Join(root, "configs"))), served.Load(t.Context())); err != nil {
		t.Error(err)
	}
	return files
}

func unpack(t *testing.T, path string, header *tar.Header, content io.Reader) {
	t.Helper()
	if header.Typeflag == tar.TypeDir {
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
	} else {
		raw, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, string(raw))
	}
	if err := os.Chmod(path, header.FileInfo().Mode()); err != nil {
		t.Fatal(err)
	}
}
