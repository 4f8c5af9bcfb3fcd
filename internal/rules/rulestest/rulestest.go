// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rulestest tests lists of rules: a page in docs/reference has every rule in its order, and a script in testdata has every
// rule decide. Only tests may import it.
package rulestest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "github.com/cockroachdb/datadriven" // defines the flag rewrite

	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// Page fails unless that page of docs/reference lists the rules. With -rewrite it writes the page again.
func Page(t *testing.T, name string, policy []rules.Line) {
	t.Helper()
	file := filepath.Join(root(t), "docs/reference", name)
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: write a heading and what the rules are about; -rewrite adds the table", err)
	}
	pure(t)
	want := table(policy)
	first, _, _ := strings.Cut(strings.TrimSpace(want), "\n")
	head, _, found := strings.Cut(string(page), "\n"+first+"\n")
	want = head + want
	if rewrites() {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !found || string(page) != want {
		t.Errorf("%s does not list the rules as they are: run go test ./%s -short -rewrite", file, here(t))
	}
}

// rewrites is whether the tests were run with -rewrite, which datadriven defines, by which scripts are run.
func rewrites() bool { return flag.Lookup("rewrite").Value.String() == "true" }

// pure fails unless the package is in a list of depguard, which keeps clients, clocks and contexts out of it.
func pure(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `- "**/`+here(t)+"/*") {
		t.Errorf("add %s to the files of a strict list of depguard in .golangci.yml: core where it needs no types of Kubernetes", here(t))
	}
}

// here is the package that is tested, and root the module that it is in.
func here(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	below, err := filepath.Rel(root(t), folder)
	if err != nil {
		t.Fatal(err)
	}
	return below
}

func root(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	for ; err == nil && folder != "/"; folder = filepath.Dir(folder) {
		if _, missing := os.Stat(filepath.Join(folder, "go.mod")); missing == nil {
			return folder
		}
	}
	t.Fatalf("this is in no module: %v", err)
	return ""
}

func table(policy []rules.Line) string {
	var text strings.Builder
	for i, line := range policy {
		if i == 0 || line.Heading != policy[i-1].Heading {
			if line.Heading != "" {
				fmt.Fprintf(&text, "\n## %s\n", strings.ToUpper(line.Heading[:1])+line.Heading[1:])
			}
			text.WriteString("\n| rule | what it does |\n|---|---|\n")
		}
		fmt.Fprintf(&text, "| %s | %s |\n", line.Name, line.Does)
	}
	return text.String()
}

// decided is the rule at the end of a line that a script expects.
var decided = regexp.MustCompile(`(?m) \(([^()]+)\)$`)

// Scripts fails unless each rule decides in a script of testdata. No script may expect a rule that does not exist, but for otherwise, which
// stands where no rule decides. If that is empty, other lines of scripts end like rules, and are let pass. It reads scripts, and runs none.
func Scripts(t *testing.T, policy []rules.Line, otherwise string) {
	t.Helper()
	ScriptsIn(t, "testdata", policy, otherwise)
}

// ScriptsIn is Scripts for one of several lists of a package, whose scripts are in that folder.
func ScriptsIn(t *testing.T, folder string, policy []rules.Line, otherwise string) {
	t.Helper()
	if rewrites() {
		return // other tests may yet write the scripts
	}
	var names []string
	for _, line := range policy {
		if slices.Contains(names, line.Name) {
			t.Errorf("two rules have the name %q", line.Name)
		}
		names = append(names, line.Name)
	}
	seen := expected(t, folder)
	for _, name := range names {
		if seen[name] == "" {
			t.Errorf("no script has the rule %q decide", name)
		}
	}
	for name, script := range seen {
		if otherwise != "" && name != otherwise && !slices.Contains(names, name) {
			t.Errorf("%s expects the rule %q, which does not exist", script, name)
		}
	}
}

// expected are the rules that scripts have decide, with one of the scripts.
func expected(t *testing.T, folder string) map[string]string {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts in %s, %v", len(scripts), folder, err)
	}
	seen := map[string]string{}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n----\n")[1:] {
			expectation, _, _ := strings.Cut(part, "\n\n")
			for _, match := range decided.FindAllStringSubmatch(expectation, -1) {
				seen[match[1]] = script
			}
		}
	}
	return seen
}
