package inplace_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/inplace"
)

const rulesPage = "../../docs/reference/restore-rules.md"

// TestRulesPage: docs/reference/restore-rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) {
	page, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(page), "\n| rule |")
	want := head + inplace.RulesTable()
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		if err := os.WriteFile(rulesPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !found || string(page) != want {
		t.Errorf("%s does not list the rules as they are: run go test ./internal/inplace -short -rewrite", rulesPage)
	}
}

// decided is the rule at the end of a line that a story expects.
var decided = regexp.MustCompile(`(?m) \(([^()]+)\)$`)

// TestEveryRuleHasAStory: in which it decides.
func TestEveryRuleHasAStory(t *testing.T) {
	stories, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(stories) == 0 {
		t.Fatalf("%d stories, %v", len(stories), err)
	}
	var seen []string
	for _, story := range stories {
		text, err := os.ReadFile(story)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range decided.FindAllStringSubmatch(string(text), -1) {
			seen = append(seen, match[1])
		}
	}
	names := inplace.RuleNames()
	for i, name := range names {
		if !slices.Contains(seen, name) {
			t.Errorf("no story has the rule %q decide", name)
		}
		if slices.Contains(names[:i], name) {
			t.Errorf("two rules have the name %q", name)
		}
	}
}
