// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Faults writes docs/faults.md: the faults of docs/faults.yaml, each with the tests that show what happens. A test has the number of its
// fault in its name, its description, the comment above it or, in a script, in a comment.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	source = "docs/faults.yaml"
	page   = "docs/faults.md"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	list, err := load(filepath.Join(root, source))
	if err != nil {
		return err
	}
	found, err := scan(root)
	if err != nil {
		return err
	}
	if err := list.check(root, found); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, page), []byte(list.page(found)), 0o644)
}
