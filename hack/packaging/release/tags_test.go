// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTheTagThatMovesNeverGoesBack(t *testing.T) {
	releases := t.TempDir()
	for _, folder := range []string{"unpublished", "v0.9.9", "v0.10.0-dev", "v1.0.0"} {
		if err := os.Mkdir(filepath.Join(releases, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for version, want := range map[string][]string{
		"0.10.0-dev": {"v0.10.0-dev", "v0"}, "0.10.0": {"v0.10.0", "v0"}, "0.9.9": {"v0.9.9"},
		"1.0.0": {"v1.0.0", "v1"}, "2.0.0": {"v2.0.0", "v2"},
	} {
		if got, err := tags(version, releases); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v (%v), want %v", version, got, err, want)
		}
	}
	if _, err := tags("v0.9.0", releases); err == nil {
		t.Error("v0.9.0 is taken for a version")
	}
}
