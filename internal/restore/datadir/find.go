// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// deepest is how far below the root of a volume a data directory may be.
const deepest = 3

// Find is the data directory on the volume of a member: that of the name, or, on one that something else has made and an adoption has kept,
// the only one that there is.
func Find(volume, name string) string {
	usual := filepath.Join(volume, name)
	if hasDatabase(usual) {
		return usual
	}
	var found []string
	_ = filepath.WalkDir(volume, func(path string, entry fs.DirEntry, err error) error {
		switch below, _ := filepath.Rel(volume, path); {
		case err != nil, !entry.IsDir(), strings.Count(below, string(filepath.Separator)) >= deepest:
			return fs.SkipDir
		case hasDatabase(path):
			found = append(found, path)
			return fs.SkipDir
		default:
			return nil
		}
	})
	if len(found) != 1 {
		return usual // what opens it says that nothing is there
	}
	return found[0]
}

// Bring moves the data directory on a volume that is a copy to the usual name, and is where it is then.
func Bring(volume, name string) (string, error) {
	usual, at := filepath.Join(volume, name), Find(volume, name)
	if at == usual {
		return usual, nil
	}
	if err := os.MkdirAll(usual, 0o700); err != nil {
		return "", fmt.Errorf("make the data directory %s: %w", name, err)
	}
	if err := os.Rename(filepath.Join(at, member), filepath.Join(usual, member)); err != nil {
		return "", fmt.Errorf("move the data to the directory %s: %w", name, err)
	}
	return usual, nil
}

// member is the folder of a data directory that has everything.
const member = "member"

func hasDatabase(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, member, "snap", "db"))
	return err == nil
}
