// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var tree = map[string]string{
	source: `intro: |
  What can go wrong.
sections:
- title: Members
  faults:
  - {number: "1", fault: A first, tests: [a/b_test.go TestOther]}
  - {number: "2", fault: A second, status: "partly: no IPv6"}
  - {number: "9", fault: A ninth}
  - {number: "11", fault: An eleventh}
`,
	"test/e2e/x_test.go": `package e2e
func specs() {
	// fault 11: a comment within is no test
	It("fault 9 and 11: a member "+role, nil)
	It("faults 1, 2: a size", nil)
}
`,
	"a/b_test.go": `package a
// TestOther has the number above it (faults 2 and 9).
func TestOther(t *testing.T) {}
func TestFault11First(t *testing.T) {}
func TestFault11Second(t *testing.T) {}
`,
	"a/c_test.go":          "package a\nfunc TestFault11Third(t *testing.T) {}\n",
	"a/testdata/d.txt":     "# It was down (fault 11).\nnext\n",
	"hack/own/own_test.go": "package own\nfunc TestFault99(t *testing.T) {}\n",
}

// write puts a tree with some files changed into a folder.
func write(t *testing.T, changed map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for _, files := range []map[string]string{tree, changed} {
		for name, text := range files {
			file := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestPage(t *testing.T) {
	root := write(t, nil)
	if err := run(root); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []string{
		"| 1 | A first | [e2e](../test/e2e/x_test.go), [`TestOther`](../a/b_test.go) | shown |",
		"| 2 | A second | [e2e](../test/e2e/x_test.go), [`TestOther`](../a/b_test.go) | partly: no IPv6 |",
		"| 9 | A ninth | [e2e](../test/e2e/x_test.go), [`TestOther`](../a/b_test.go) | shown |",
		"| 11 | An eleventh | [e2e](../test/e2e/x_test.go), [`TestFault11…`](../a/b_test.go), [`TestFault11…`](../a/c_test.go) and 1 more |" +
			" shown |",
	} {
		if !strings.Contains(string(text), row+"\n") {
			t.Errorf("no row %s in:\n%s", row, text)
		}
	}
}

func TestFaultWithoutTests(t *testing.T) {
	root := write(t, map[string]string{"test/e2e/x_test.go": "package e2e\n", "a/b_test.go": "package a\nfunc TestOther() {}\n"})
	if err := run(root); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if row := "| 9 | A ninth |  | not shown |"; err != nil || !strings.Contains(string(text), row) {
		t.Errorf("no row %s in:\n%s%v", row, text, err)
	}
}

func TestRefused(t *testing.T) {
	for want, changed := range map[string]map[string]string{
		"a/e_test.go names fault 77":   {"a/e_test.go": "package a\nfunc TestFault77() {}\n"},
		"a/b_test.go has no TestOther": {"a/b_test.go": "package a\n"},
		"lists fault 2 twice":          {source: strings.Replace(tree[source], `"1"`, `"2"`, 1)},
	} {
		if err := run(write(t, changed)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v instead of: %s", err, want)
		}
	}
}
