// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/bundle"
)

// keeping copies a published bundle, and the name of its image, to where the published ones are.
type keeping struct {
	bundle, image     string
	releases, version string
	dry               bool
}

// parts are those of a bundle.
var parts = []string{"manifests", "metadata", "tests"}

var byDigest = regexp.MustCompile(`^[^@\s]+@sha256:[0-9a-f]{64}$`)

// run keeps the bundle, unless it is there already. It may never differ: catalogs name the digest of its image.
func (k keeping) run() error {
	if !byDigest.MatchString(k.image) {
		return fmt.Errorf("the image %q is not named by its digest", k.image)
	}
	target := filepath.Join(k.releases, "v"+k.version)
	now, err := content(k.bundle, k.image)
	if err != nil {
		return err
	}
	if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
		return unchanged(now, target)
	}
	if k.dry {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		file := filepath.Join(target, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(now[name]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// content is what is kept of a bundle, by the names of files. Where there was no git, nobody knows the commit.
func content(folder, image string) (map[string]string, error) {
	all := map[string]string{bundle.ImageFile: image + "\n"}
	for _, part := range parts {
		if err := read(all, folder, part); err != nil {
			return nil, err
		}
	}
	if err := read(all, folder, bundle.SourceFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return all, nil
}

func unchanged(now map[string]string, target string) error {
	image, err := os.ReadFile(filepath.Join(target, bundle.ImageFile))
	if err != nil {
		return err
	}
	before, err := content(target, strings.TrimSpace(string(image)))
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if before[name] != now[name] {
			return differs(target, name)
		}
		delete(before, name)
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		return differs(target, name)
	}
	return nil
}

func differs(target, name string) error {
	return fmt.Errorf("%s was published with another %s: a published bundle never changes, raise VERSION", target, name)
}

// read adds a file of a folder, or all below one, by their names in the folder.
func read(all map[string]string, folder, part string) error {
	return filepath.WalkDir(filepath.Join(folder, part), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		all[filepath.ToSlash(relative)] = string(raw)
		return err
	})
}
