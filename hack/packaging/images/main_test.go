// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// The image of a small program says what it is and carries licences, and Docker can load it: `make docker-build` has it read
// this file.
func TestAnImageForDocker(t *testing.T) {
	source := t.TempDir()
	for file, text := range map[string]string{
		"go.mod": "module example.com/small\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n", "LICENSE": "free",
	} {
		if err := os.WriteFile(filepath.Join(source, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	t.Setenv("VERSION", "0.3.0")
	t.Setenv("REVISION", "0123abcd")
	const tag = "registry.example/team/small:v0.3.0"
	r := request{source: source, main: ".", title: "small", platforms: []string{"linux/arm64"}}
	result, err := r.build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	image, ok := result.(v1.Image)
	if !ok {
		t.Fatalf("one platform makes %T", result)
	}
	file := filepath.Join(t.TempDir(), "dist", "small.tar")
	if err := save(file, tag, image); err != nil {
		t.Fatal(err)
	}
	list, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(file) })
	if err != nil || len(list) != 1 || !slices.Equal(list[0].RepoTags, []string{tag}) || len(list[0].Layers) < 3 {
		t.Errorf("Docker would load %v (%v)", list, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"org.opencontainers.image.title": "small", "org.opencontainers.image.version": "0.3.0",
		"org.opencontainers.image.revision": "0123abcd", "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.source":  "https://github.com/etcd-operator/etcd-operator",
		"org.opencontainers.image.created": "2023-11-14T22:13:20Z",
	}
	if !maps.Equal(config.Config.Labels, want) {
		t.Errorf("labels are %v, want %v", config.Config.Labels, want)
	}
	if config.Architecture != "arm64" || len(config.Config.Entrypoint) != 1 {
		t.Errorf("it is of %s and runs %v", config.Architecture, config.Config.Entrypoint)
	}
	content := mutate.Extract(image)
	defer content.Close()
	missing := map[string]bool{"licenses/example.com/small/LICENSE": true, "licenses/std/LICENSE": true}
	for archive := tar.NewReader(content); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		delete(missing, header.Name)
	}
	if len(missing) > 0 {
		t.Errorf("missing: %v", missing)
	}
}
