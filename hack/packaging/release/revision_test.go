// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Provenance names the commit of a clean tree only: neither that of a tree with changes, nor that of the checkout in which a copy lies.
func TestTheCommitIsThatOfACleanTree(t *testing.T) {
	script, err := os.ReadFile("../../revision.sh")
	if err != nil {
		t.Fatal(err)
	}
	tree := t.TempDir()
	git := func(arguments ...string) string {
		t.Helper()
		person := []string{"-c", "user.name=a", "-c", "user.email=a@example.com"}
		command := exec.CommandContext(t.Context(), "git", append(person, arguments...)...)
		command.Dir = tree
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", arguments, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	revision := func(tree string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "bash", filepath.Join(tree, "hack", "revision.sh")).Output()
		return strings.TrimSpace(string(out)), err
	}
	place := func(tree string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(tree, "hack"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(tree, "hack", "revision.sh"), string(script))
	}
	place(tree)
	if got, err := revision(tree); err != nil || got != "" {
		t.Errorf("no checkout is of commit %q (%v)", got, err)
	}
	git("init", "--quiet")
	write(t, filepath.Join(tree, ".gitignore"), "/dist/\n")
	git("add", "-A")
	git("commit", "--quiet", "-m", "a")
	if got, err := revision(tree); err != nil || got != git("rev-parse", "HEAD") {
		t.Errorf("a clean tree is of %q (%v)", got, err)
	}
	inside := filepath.Join(tree, "dist", "tree")
	place(inside)
	if got, err := revision(inside); err != nil || got != "" {
		t.Errorf("a copy inside a checkout is of commit %q (%v)", got, err)
	}
	// What `make release-push` keeps is no source: its digests say what it is, and it must not refuse the next release.
	if err := os.MkdirAll(filepath.Join(tree, "releases", "v0.9.0"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(tree, "releases", "v0.9.0", "image"), "registry.example/bundle@sha256:0")
	if got, err := revision(tree); err != nil || got != git("rev-parse", "HEAD") {
		t.Errorf("with a release that is kept it is of %q (%v)", got, err)
	}
	write(t, filepath.Join(tree, "new.go"), "package new")
	if got, err := revision(tree); err == nil || got != "" {
		t.Errorf("with a file that is in no commit it is of %q", got)
	}
	git("add", "-A")
	if got, err := revision(tree); err == nil || got != "" {
		t.Errorf("with a change that is not committed it is of %q", got)
	}
}
