// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// TestDataIsFoundOnAVolume: in the usual place, or where something else has put it; of several nothing is guessed.
func TestDataIsFoundOnAVolume(t *testing.T) {
	for name, is := range map[string]struct {
		has  []string
		want string
	}{
		"usual":        {[]string{"data"}, "data"},
		"beside it":    {[]string{"data", "old.etcd"}, "data"},
		"elsewhere":    {[]string{"etcd/default.etcd"}, "etcd/default.etcd"},
		"the root":     {[]string{"."}, "."},
		"two of them":  {[]string{"a", "b"}, "data"},
		"too far down": {[]string{"a/b/c/d/e"}, "data"},
		"none":         {nil, "data"},
	} {
		volume := t.TempDir()
		for _, dir := range is.has {
			snap := filepath.Join(volume, dir, "member", "snap")
			if err := os.MkdirAll(snap, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(snap, "db"), []byte(dir), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := datadir.Find(volume, "data"), filepath.Join(volume, is.want); got != want {
			t.Errorf("%s: got %s", name, got)
		}
		at, err := datadir.Bring(volume, "data")
		if err != nil || at != filepath.Join(volume, "data") {
			t.Errorf("%s: brought to %s, %v", name, at, err)
		}
		if found, err := os.ReadFile(filepath.Join(at, "member", "snap", "db")); is.want != "data" && (err != nil || string(found) != is.want) {
			t.Errorf("%s: %q, %v", name, found, err)
		}
	}
}
