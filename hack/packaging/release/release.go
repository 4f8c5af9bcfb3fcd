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

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/etcd-operator/etcd-operator/hack/packaging/internal/oci"
)

var (
	plainVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
	anyHeading   = regexp.MustCompile(`(?m)^## .*$`)
	link         = regexp.MustCompile(`(?m)^\[[^\]]+\]: \S+$`)
)

// notes cuts the section of a version from the changelog. The version must have its day there: what is under "Unreleased" is
// not released.
func notes(changelog, version string) (string, error) {
	if !plainVersion.MatchString(version) {
		return "", fmt.Errorf("%q is no version: write it like 0.3.0", version)
	}
	heading := regexp.MustCompile(`^## \[?` + regexp.QuoteMeta(version) + `\]? - [0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	places := anyHeading.FindAllStringIndex(changelog, -1)
	for i, place := range places {
		if !heading.MatchString(changelog[place[0]:place[1]]) {
			continue
		}
		end := len(changelog)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		text := strings.TrimSpace(link.ReplaceAllString(changelog[place[1]:end], ""))
		if text == "" {
			return "", fmt.Errorf("the section of %s in the changelog is empty: say what changed", version)
		}
		return text + "\n", nil
	}
	return "", fmt.Errorf("the changelog has no section of %s: rename [Unreleased] to [%s] - <day>", version, version)
}

// kept are the parts of a bundle.
var kept = []string{"manifests", "metadata", "tests"}

// keep copies a bundle to where releases are kept, unless it is there already. It may never differ: catalogs name the
// digest of its image.
func keep(bundle, releases, version string, dry bool) error {
	target := filepath.Join(releases, "v"+version)
	_, err := os.Stat(target)
	if released := !errors.Is(err, fs.ErrNotExist); released || dry {
		return unchanged(bundle, target, released)
	}
	for _, part := range kept {
		if err := os.CopyFS(filepath.Join(target, part), os.DirFS(filepath.Join(bundle, part))); err != nil {
			return err
		}
	}
	return nil
}

func unchanged(bundle, target string, released bool) error {
	for _, part := range kept {
		now, err := contents(filepath.Join(bundle, part))
		if err != nil || !released {
			return err
		}
		before, err := contents(filepath.Join(target, part))
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(now)) {
			if before[name] != now[name] {
				return differs(target, part, name)
			}
			delete(before, name)
		}
		for _, name := range slices.Sorted(maps.Keys(before)) {
			return differs(target, part, name)
		}
	}
	return nil
}

func differs(target, part, name string) error {
	return fmt.Errorf("%s is released with another %s: a released bundle never changes, raise VERSION", target, filepath.Join(part, name))
}

func contents(folder string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, path)
		all[relative] = string(raw)
		return err
	})
	return all, err
}

// same returns the digest of the image that two layouts hold.
func same(first, second string) (v1.Hash, error) {
	one, err := digestOf(first)
	if err != nil {
		return v1.Hash{}, err
	}
	other, err := digestOf(second)
	if err != nil {
		return v1.Hash{}, err
	}
	if one != other {
		return v1.Hash{}, fmt.Errorf("built twice, it became %s and %s: something of this machine or of today got in", one, other)
	}
	return one, nil
}

func digestOf(folder string) (v1.Hash, error) {
	index, err := oci.ReadLayout(folder)
	if err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}
