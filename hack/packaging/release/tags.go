// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/blang/semver/v4"
)

// tags are those under which the catalog of a version is published: its own, such as v0.10.0, which never moves, and v0, at which
// Operator Lifecycle Manager looks again. That one stays where it is if a later version was published: it would take the catalog
// back.
func tags(version, releases string) ([]string, error) {
	ours, err := semver.Parse(version)
	if err != nil {
		return nil, fmt.Errorf("version %q: %w", version, err)
	}
	all := []string{"v" + version}
	folders, err := filepath.Glob(filepath.Join(releases, "v*"))
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		other, err := semver.Parse(strings.TrimPrefix(filepath.Base(folder), "v"))
		if err != nil {
			return nil, fmt.Errorf("%s is not named after a version: %w", folder, err)
		}
		if other.Major == ours.Major && other.GT(ours) {
			return all, nil
		}
	}
	return append(all, fmt.Sprintf("v%d", ours.Major)), nil
}
