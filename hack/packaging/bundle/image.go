// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

type imageRequest struct {
	source    string
	push      string
	layout    string
	out       string
	platforms []string
}

func (r imageRequest) run(ctx context.Context) error {
	if r.push == "" && r.layout == "" {
		return errors.New("nothing to do: give -push or -layout")
	}
	index, err := r.build()
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	if r.push != "" {
		if err := pushIndex(ctx, r.push, index); err != nil {
			return err
		}
		fmt.Printf("pushed %s@%s\n", r.push, digest)
	}
	if r.layout != "" {
		if err := lay(r.layout, index); err != nil {
			return fmt.Errorf("write %s: %w", r.layout, err)
		}
		fmt.Printf("wrote %s (%s)\n", r.layout, digest)
	}
	if r.out == "" {
		return nil
	}
	return os.WriteFile(r.out, []byte(digest.String()+"\n"), 0o644)
}

// build makes one image a platform, all with the same layer: a bundle holds no program. It holds nothing of this machine and
// no time but the bundle's own, so that its digest is known from its files alone: catalogs name it. It is not compressed
// because gzip differs between versions of Go.
func (r imageRequest) build() (v1.ImageIndex, error) {
	content, err := bundleTar(r.source)
	if err != nil {
		return nil, err
	}
	labels, err := labelsOf(r.source)
	if err != nil {
		return nil, err
	}
	created, err := createdAt(r.source)
	if err != nil {
		return nil, err
	}
	layer := static.NewLayer(content, types.OCIUncompressedLayer)
	var adds []mutate.IndexAddendum
	for _, text := range r.platforms {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, fmt.Errorf("platform %q: %w", text, err)
		}
		image, err := oneImage(layer, *platform, labels, created)
		if err != nil {
			return nil, err
		}
		adds = append(adds, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), adds...), nil
}

// oneImage has neither entrypoint nor working folder: Operator Lifecycle Manager runs its own copier in it, which writes
// relative to /.
func oneImage(layer v1.Layer, platform v1.Platform, labels map[string]string, created v1.Time) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(image, layer)
	if err != nil {
		return nil, fmt.Errorf("append layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Created = created
	config.Config.Labels = labels
	return mutate.ConfigFile(image, config)
}

// labelsOf returns the bundle's annotations: those who read images find there what those who read files find in the file.
func labelsOf(source string) (map[string]string, error) {
	o, err := readObject(filepath.Join(source, "metadata", "annotations.yaml"))
	if err != nil {
		return nil, err
	}
	labels := map[string]string{}
	for key, value := range part(o, "annotations") {
		text, ok := value.(string)
		if !ok {
			return nil, fmt.Errorf("annotation %s is not a text", key)
		}
		labels[key] = text
	}
	if labels["operators.operatorframework.io.bundle.package.v1"] == "" {
		return nil, fmt.Errorf("%s/metadata/annotations.yaml names no package", source)
	}
	return labels, nil
}

// bundleTar packs manifests, metadata and tests, sorted by name.
func bundleTar(source string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, folder := range []string{"manifests", "metadata", "tests"} {
		if err := addFolder(w, source, folder); err != nil {
			return nil, fmt.Errorf("pack %s: %w", folder, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("close layer: %w", err)
	}
	return out.Bytes(), nil
}

func addFolder(w *tar.Writer, source, folder string) error {
	root := os.DirFS(source)
	return fs.WalkDir(root, folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path, Mode: 0o644, Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR}
		if entry.IsDir() {
			header.Name, header.Mode, header.Typeflag = path+"/", 0o755, tar.TypeDir
			return w.WriteHeader(header)
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		header.Size = int64(len(content))
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
}

func pushIndex(ctx context.Context, target string, index v1.ImageIndex) error {
	ref, err := name.ParseReference(target)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(ref, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s (is the registry running?): %w", target, err)
	}
	return nil
}

// lay writes a layout with one entry, as the programs that copy images expect.
func lay(folder string, index v1.ImageIndex) error {
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index)
}

// createdAt is the time that the bundle itself gives.
func createdAt(source string) (v1.Time, error) {
	file, csv, err := readCSV(source)
	if err != nil {
		return v1.Time{}, err
	}
	created, err := time.Parse(time.RFC3339, text(csv, "metadata", "annotations", "createdAt"))
	if err != nil {
		return v1.Time{}, fmt.Errorf("%s: createdAt: %w", file, err)
	}
	return v1.Time{Time: created.UTC()}, nil
}
