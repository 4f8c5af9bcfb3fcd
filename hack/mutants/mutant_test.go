// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

const list = `# For people.

mutant first: one thing
file internal/a/a.go
-	old
-	text
+	new

mutant second: another
file b.go
-only
test ./x ./y
`

func TestParse(t *testing.T) {
	mutants, err := parse("list.txt", list)
	if err != nil || len(mutants) != 2 {
		t.Fatalf("%d mutants, %v", len(mutants), err)
	}
	first, second := mutants[0], mutants[1]
	if first.name != "first" || first.breaks != "one thing" || first.at != "list.txt:3" ||
		strings.Join(first.packages, " ") != "./internal/a" {
		t.Errorf("%+v", first)
	}
	if strings.Join(second.packages, " ") != "./x ./y" {
		t.Errorf("%+v", second)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no file":     "mutant a: b\n-x",
		"no change":   "mutant a: b\nfile f",
		"no purpose":  "mutant a\nfile f\n-x",
		"odd line":    "mutant a: b\nfile f\n-x\nodd",
		"no mutant":   "file f",
		"indentation": "mutant a: b\nfile f\n -x",
	} {
		if mutants, err := parse("list.txt", text); err == nil {
			t.Errorf("%s: %+v", name, mutants)
		}
	}
}

func TestApply(t *testing.T) {
	m := mutant{file: "f", old: []string{"\told", "\ttext"}, new: []string{"\tnew"}}
	for text, want := range map[string]string{
		"a\n\told\n\ttext\nb":        "a\n\tnew\nb",
		"a\n\told\nb":                "",
		"\told\n\ttext\told\n\ttext": "",
	} {
		got, err := m.apply(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q becomes %q, %v", text, got, err)
		}
	}
	gone := mutant{file: "f", old: []string{"b"}}
	if got, err := gone.apply("abc"); got != "ac" || err != nil {
		t.Errorf("abc becomes %q, %v", got, err)
	}
}

// TestVerdict: only a test that fails notices a bug. What does not compile, or does
// not run, proves nothing.
func TestVerdict(t *testing.T) {
	failed := &exec.ExitError{}
	for name, c := range map[string]struct {
		output string
		err    error
		want   string
		broken bool
	}{
		"passes":           {output: "ok  \tx\t0.1s\n"},
		"fails":            {output: "--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/y (0.00s)\nFAIL\n", err: failed, want: "TestX"},
		"panics":           {output: "panic: runtime error\n", err: failed, want: "panic: runtime error"},
		"does not compile": {output: "# x\nFAIL\tx [build failed]\n", err: failed, broken: true},
		"is no test":       {output: "no Go files\n", err: failed, broken: true},
		"go is missing":    {err: errors.New("not found"), broken: true},
	} {
		got, err := verdict(c.output, c.err)
		if got != c.want || (err != nil) != c.broken {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestEveryMutantFits: whoever changes a line that a mutant is about changes the mutant, too.
func TestEveryMutantFits(t *testing.T) {
	t.Chdir("../..")
	mutants, err := load("hack/mutants/list")
	if err != nil {
		t.Fatal(err)
	}
	if err := allFit(mutants); err != nil || len(mutants) < 600 {
		t.Errorf("%d mutants: %v", len(mutants), err)
	}
}
