// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	place "github.com/etcd-operator/etcd-operator/hack/devcluster/internal/layout"
)

// Load pushes what a build tool wrote: an OCI layout, as a folder or packed,
// or an archive of 'docker save'.
func Load(ctx context.Context, text, path string) (string, error) {
	reference, err := Reference(text)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	folder := path
	if !info.IsDir() {
		folder, err = os.MkdirTemp("", "devcluster-load-")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(folder)
		if err := unpack(path, folder); err != nil {
			return "", fmt.Errorf("%s is neither an OCI layout nor an image archive: %w", path, err)
		}
	}
	image, err := archive(folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return reference.Name(), pushLayout(ctx, reference, folder)
	case err != nil:
		return "", fmt.Errorf("read the image of %s: %w", path, err)
	}
	return reference.Name(), remote.Write(reference, image, remote.WithContext(ctx))
}

// archive reads what 'docker save' wrote and unpack took apart. Each layer
// says by itself whether it is compressed: an archive may hold both kinds.
func archive(folder string) (v1.Image, error) {
	raw, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		return nil, err
	}
	var all tarball.Manifest
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("it holds %d images: save one alone", len(all))
	}
	config, err := os.Open(filepath.Join(folder, all[0].Config))
	if err != nil {
		return nil, unlisted(err)
	}
	defer config.Close()
	file, err := v1.ParseConfigFile(config)
	if err != nil {
		return nil, err
	}
	var layers []v1.Layer
	for _, name := range all[0].Layers {
		layer, err := tarball.LayerFromFile(filepath.Join(folder, name))
		if err != nil {
			return nil, unlisted(err)
		}
		layers = append(layers, layer)
	}
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, file)
}

// unlisted keeps a file that the archive lacks from looking like an archive
// of another kind.
func unlisted(err error) error { return errors.New(err.Error()) }

// pushLayout pushes the one image or index of a layout.
func pushLayout(ctx context.Context, reference name.Reference, folder string) error {
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	if len(manifest.Manifests) != 1 {
		return remote.WriteIndex(reference, index, remote.WithContext(ctx))
	}
	only := manifest.Manifests[0]
	if only.MediaType.IsIndex() {
		inner, err := index.ImageIndex(only.Digest)
		if err != nil {
			return err
		}
		return remote.WriteIndex(reference, inner, remote.WithContext(ctx))
	}
	image, err := index.Image(only.Digest)
	if err != nil {
		return err
	}
	return remote.Write(reference, image, remote.WithContext(ctx))
}

func unpack(path, folder string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	archive := tar.NewReader(file)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(header.Name) {
			continue
		}
		if err := unpackEntry(archive, header, folder); err != nil {
			return err
		}
	}
}

// unpackEntry follows no link out of the folder. Archives have links where
// layers are the same.
func unpackEntry(archive io.Reader, header *tar.Header, folder string) error {
	path := filepath.Join(folder, header.Name)
	switch {
	case header.Typeflag == tar.TypeReg:
		return unpackFile(archive, path)
	case header.Typeflag == tar.TypeSymlink && filepath.IsLocal(filepath.Join(filepath.Dir(header.Name), header.Linkname)):
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.Symlink(header.Linkname, path)
	}
	return nil
}

func unpackFile(from io.Reader, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(file, from)
	return err
}

// List names every image that the registry holds.
func List(ctx context.Context) ([]string, error) {
	registry, err := name.NewRegistry(place.RegistryAddress, name.Insecure)
	if err != nil {
		return nil, err
	}
	repositories, err := remote.Catalog(ctx, registry)
	if err != nil {
		return nil, fmt.Errorf("ask the registry: %w", err)
	}
	var all []string
	for _, repository := range repositories {
		tags, err := remote.List(registry.Repo(repository), remote.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		for _, tag := range tags {
			all = append(all, repository+":"+tag)
		}
	}
	return all, nil
}
