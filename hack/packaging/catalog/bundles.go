// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/operator-framework/operator-registry/alpha/action"
	"github.com/operator-framework/operator-registry/alpha/action/migrations"
	"github.com/operator-framework/operator-registry/alpha/declcfg"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
)

// findBundles lists what is published, and the current bundle unless that version is published already.
func findBundles(top, current string) ([]bundle.Bundle, error) {
	folders, err := filepath.Glob(filepath.Join(top, "releases", "v*", "manifests"))
	if err != nil {
		return nil, err
	}
	var all []bundle.Bundle
	for _, folder := range folders {
		b, err := bundle.Read(filepath.Dir(folder))
		if err != nil {
			return nil, err
		}
		if b.Published == "" {
			return nil, fmt.Errorf("%s names no image: only what is published may be in releases/", b.Folder)
		}
		all = append(all, b)
	}
	b, err := bundle.Read(current)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	case !slices.ContainsFunc(all, func(other bundle.Bundle) bool { return other.Version.EQ(b.Version) }):
		all = append(all, b)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no bundle: run 'make bundle'")
	}
	return all, nil
}

// render asks operator-registry what a catalog says of a bundle.
func render(ctx context.Context, b bundle.Bundle, repository string) (*declcfg.DeclarativeConfig, error) {
	image, err := imageOf(b, repository)
	if err != nil {
		return nil, err
	}
	named, err := template.New("image").Parse(image)
	if err != nil {
		return nil, err
	}
	level, err := migrations.NewMigrations("bundle-object-to-csv-metadata")
	if err != nil {
		return nil, err
	}
	rendered, err := action.Render{
		Refs: []string{b.Folder}, AllowedRefMask: action.RefBundleDir, ImageRefTemplate: named, Migrations: level,
	}.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", b.Name, err)
	}
	return rendered, nil
}

// imageOf names the image of a bundle by its digest. It has the name under which it was published, or will be.
func imageOf(b bundle.Bundle, repository string) (string, error) {
	index, err := b.Image(bundle.Platforms)
	if err != nil {
		return "", fmt.Errorf("build the image of %s: %w", b.Name, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("digest of %s: %w", b.Name, err)
	}
	before := b.Published
	if before == "" {
		return repository + "@" + digest.String(), nil
	}
	if !strings.HasSuffix(before, "@"+digest.String()) {
		return "", fmt.Errorf("%s was published as %s, and its files now make %s: a published bundle never changes", b.Folder, before, digest)
	}
	return before, nil
}
