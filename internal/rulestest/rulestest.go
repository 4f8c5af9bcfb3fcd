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
)

// Rules are some that stand together on their page.
type Rules struct {
	Heading string // empty: none
	rules   [][2]string
}

// Add appends a rule: its name, and what it does in one line.
func (r *Rules) Add(name, does string) { r.rules = append(r.rules, [2]string{name, does}) }

// Page fails unless that page of docs/reference lists the rules. With -rewrite it writes the page again.
func Page(t *testing.T, name string, policy []Rules) {
	t.Helper()
	file := filepath.Join("../../docs/reference", name)
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := table(policy)
	first, _, _ := strings.Cut(strings.TrimSpace(want), "\n")
	head, _, found := strings.Cut(string(page), "\n"+first+"\n")
	want = head + want
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !found || string(page) != want {
		t.Errorf("%s does not list the rules as they are: run go test ./internal/%s -short -rewrite", file, here(t))
	}
}

// here is the package that is tested.
func here(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(folder)
}

func table(policy []Rules) string {
	var text strings.Builder
	for _, some := range policy {
		if some.Heading != "" {
			fmt.Fprintf(&text, "\n## %s\n", some.Heading)
		}
		text.WriteString("\n| rule | what it does |\n|---|---|\n")
		for _, rule := range some.rules {
			fmt.Fprintf(&text, "| %s | %s |\n", rule[0], rule[1])
		}
	}
	return text.String()
}

// decided is the rule at the end of a line that a script expects.
var decided = regexp.MustCompile(`(?m) \(([^()]+)\)$`)

// Scripts fails unless each rule decides in a script of testdata. No script may expect a rule that does not exist, but for otherwise, which
// stands where no rule decides. If that is empty, other lines of scripts end like rules, and are let pass.
func Scripts(t *testing.T, policy []Rules, otherwise string) {
	t.Helper()
	var names []string
	for _, some := range policy {
		for _, rule := range some.rules {
			if slices.Contains(names, rule[0]) {
				t.Errorf("two rules have the name %q", rule[0])
			}
			names = append(names, rule[0])
		}
	}
	seen := expected(t)
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
func expected(t *testing.T) map[string]string {
	t.Helper()
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
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
