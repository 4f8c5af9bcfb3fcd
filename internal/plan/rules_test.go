package plan_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/plan"
)

const rulesPage = "../../docs/reference/rules.md"

// TestRulesPage: docs/reference/rules.md lists every rule in its order. With -rewrite it is written again.
func TestRulesPage(t *testing.T) {
	page, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(page), "\n## ")
	want := head + plan.PolicyTable()
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		if err := os.WriteFile(rulesPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !found || string(page) != want {
		t.Errorf("%s does not list the rules as they are: run go test ./internal/plan -short -rewrite", rulesPage)
	}
}

// decided is the rule at the end of a line that a script expects.
var decided = regexp.MustCompile(`(?m) \(([^()]+)\)$`)

// TestEveryRuleHasAScript: and no script expects a rule that does not exist.
func TestEveryRuleHasAScript(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	names, seen := plan.RuleNames(), map[string]bool{"as wanted": true}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, expected := range expectations(string(text)) {
			for _, match := range decided.FindAllStringSubmatch(expected, -1) {
				if seen[match[1]] = true; match[1] != "as wanted" && !slices.Contains(names, match[1]) {
					t.Errorf("%s expects the rule %q, which does not exist", script, match[1])
				}
			}
		}
	}
	for i, name := range names {
		if !seen[name] {
			t.Errorf("no script expects the rule %q", name)
		}
		if slices.Contains(names[:i], name) {
			t.Errorf("two rules have the name %q", name)
		}
	}
}

// expectations are what follows each line of hyphens, up to the next empty line.
func expectations(script string) []string {
	var all []string
	for _, part := range strings.Split(script, "\n----\n")[1:] {
		expected, _, _ := strings.Cut(part, "\n\n")
		all = append(all, expected)
	}
	return all
}
