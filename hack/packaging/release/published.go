// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
)

// published asks the registries for every image that a catalog names: a catalog that names one which nobody has published
// offers a version that cannot be installed.
func published(ctx context.Context, catalog string) error {
	images, err := imagesOf(ctx, catalog)
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
func imagesOf(ctx context.Context, catalog string) ([]string, error) {
	found, err := declcfg.LoadFS(ctx, os.DirFS(catalog))
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	for _, b := range found.Bundles {
		all[b.Image] = true
		for _, related := range b.RelatedImages {
			all[related.Image] = true
		}
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all)), nil
}
