// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"errors"
	"os"
	"path/filepath"
)

// Link fills a folder with links to the programs of built components. The
// first component that has a name keeps it.
func (b Builder) Link(components []Component, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, component := range components {
		dir, err := b.Dir(component)
		if err != nil {
			return err
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, file := range files {
			if file.IsDir() || taken[file.Name()] {
				continue
			}
			taken[file.Name()] = true
			if err := link(filepath.Join(dir, file.Name()), filepath.Join(folder, file.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// link replaces a link at once: a daemon may be starting from it.
func link(target, name string) error {
	if now, err := os.Readlink(name); err == nil && now == target {
		return nil
	}
	fresh := name + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, name)
}
