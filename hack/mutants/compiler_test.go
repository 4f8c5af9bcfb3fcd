// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompiler changes a file of this package: what is right once must be found
// wrong once it is changed, and right again.
func TestCompiler(t *testing.T) {
	c, err := newCompiler(t.Context(), []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	file, err := filepath.Abs("mutant.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const head = "package main\n"
	for _, x := range []struct{ name, added, complaint string }{
		{"as it is", "", ""},
		{"unused variable", "func f() { x := 1 }", "declared and not used"},
		{"unused import", `import "bytes"`, "not used"},
		{"unknown import", `import _ "net/rpc"`, "no package imported net/rpc"},
		{"unknown name", "var x = y", "undefined"},
		{"other type", "var x int = true", "cannot use"},
		{"no return", "func f() int { for range 3 {} }", "missing return"},
		{"no syntax", "func {", "expected"},
		{"of another file", "func f() { l := &lab{}; l.close() }", ""},
	} {
		changed := string(text) + x.added
		if strings.HasPrefix(x.added, "import") {
			changed = strings.Replace(string(text), head, head+x.added+"\n", 1)
		}
		err := c.check(file, changed)
		if x.complaint == "" && err != nil || x.complaint != "" && (err == nil || !strings.Contains(err.Error(), x.complaint)) {
			t.Errorf("%s: %v", x.name, err)
		}
	}
	if err := c.check(filepath.Join(filepath.Dir(file), "gone.go"), head); err == nil {
		t.Error("a file that is in no package compiles")
	}
}
