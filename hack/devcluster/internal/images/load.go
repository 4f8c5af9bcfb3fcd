package images

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/layout"
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
	if info.IsDir() {
		return reference.Name(), pushLayout(ctx, reference, path)
	}
	if image, err := tarball.ImageFromPath(path, nil); err == nil {
		return reference.Name(), remote.Write(reference, image, remote.WithContext(ctx))
	}
	folder, err := os.MkdirTemp("", "devcluster-load-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	if err := unpack(path, folder); err != nil {
		return "", fmt.Errorf("%s is neither an OCI layout nor an image archive: %w", path, err)
	}
	return reference.Name(), pushLayout(ctx, reference, folder)
}

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
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) {
			continue
		}
		if err := unpackFile(archive, filepath.Join(folder, header.Name)); err != nil {
			return err
		}
	}
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
