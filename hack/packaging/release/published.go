// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

// published asks the registries for every image that a catalog names: a catalog that names one which nobody has published
// offers a version that cannot be installed.
func published(ctx context.Context, catalog string) error {
	images, err := imagesOf(catalog)
	if err != nil {
		return err
	}
	if len(images) == 0 {
		return fmt.Errorf("%s names no image", catalog)
	}
	var missing []error
	for _, image := range images {
		ref, err := name.NewDigest(image)
		if err != nil {
			return fmt.Errorf("%s: %w", image, err)
		}
		if _, err := remote.Head(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
			missing = append(missing, fmt.Errorf("the catalog names %s, which cannot be pulled: %w", image, err))
		}
	}
	return errors.Join(missing...)
}

// imagesOf lists the images of a catalog, each once: those of bundles, and those that bundles need.
func imagesOf(catalog string) ([]string, error) {
	all := map[string]bool{}
	err := filepath.WalkDir(catalog, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, document := range bytes.Split(raw, []byte("\n---\n")) {
			var object struct {
				Image         string                   `json:"image"`
				RelatedImages []struct{ Image string } `json:"relatedImages"`
			}
			if err := yaml.Unmarshal(document, &object); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			all[object.Image] = true
			for _, related := range object.RelatedImages {
				all[related.Image] = true
			}
		}
		return nil
	})
	delete(all, "")
	return slices.Sorted(maps.Keys(all)), err
}
