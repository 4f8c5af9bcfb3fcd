// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The operator's own image is such a one: its base is not compressed, and what
// ko adds is.
func TestAnArchiveMayMixLayers(t *testing.T) {
	plain := static.NewLayer(packed(t, "one"), types.OCIUncompressedLayer)
	second := packed(t, "two")
	compressed, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(second)), nil })
	if err != nil {
		t.Fatal(err)
	}
	saved, err := mutate.AppendLayers(empty.Image, plain, compressed)
	if err != nil {
		t.Fatal(err)
	}
	image, err := archive(save(t, saved))
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 2 {
		t.Fatalf("got %d layers (%v), want 2", len(layers), err)
	}
	for index, layer := range layers {
		if got := unpacked(t, layer); got != file.RootFS.DiffIDs[index] {
			t.Errorf("unpacked, layer %d is %s, but the image says %s", index, got, file.RootFS.DiffIDs[index])
		}
	}
	want, _ := saved.ConfigName()
	if got, err := image.ConfigName(); err != nil || got != want {
		t.Errorf("another image was read than saved: %v (%v), want %v", got, err, want)
	}
}

func TestAnArchiveThatLacksALayerIsRefused(t *testing.T) {
	saved, err := mutate.AppendLayers(empty.Image, static.NewLayer(packed(t, "one"), types.OCIUncompressedLayer))
	if err != nil {
		t.Fatal(err)
	}
	folder := save(t, saved)
	layers, _ := filepath.Glob(filepath.Join(folder, "*.tar*"))
	for _, layer := range layers {
		if err := os.Remove(layer); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := archive(folder); err == nil || os.IsNotExist(err) {
		t.Errorf("want an error of its own, got %v", err)
	}
	if _, err := archive(t.TempDir()); !os.IsNotExist(err) {
		t.Errorf("a folder without a manifest is no archive, got %v", err)
	}
}

// unpacked does what a node does with a layer that it pulled.
func unpacked(t *testing.T, layer v1.Layer) v1.Hash {
	t.Helper()
	pulled, err := layer.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer pulled.Close()
	plain, err := gzip.NewReader(pulled)
	if err != nil {
		t.Fatal(err)
	}
	sum, _, err := v1.SHA256(plain)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func packed(t *testing.T, file string) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: file, Mode: 0o644}); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func save(t *testing.T, image v1.Image) string {
	t.Helper()
	tag, err := name.NewTag("example/image:tag")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := tarball.WriteToFile(file, tag, image); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := unpack(file, folder); err != nil {
		t.Fatal(err)
	}
	return folder
}
