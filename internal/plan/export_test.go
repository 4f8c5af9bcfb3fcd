package plan

import (
	"fmt"
	"slices"
	"strings"
)

// policy is all clauses, in order.
func policy() []clause { return slices.Concat(repairs, []clause{objects}, changes) }

// RuleNames are the names of all rules, in order.
func RuleNames() []string {
	var names []string
	for _, c := range policy() {
		for _, r := range c.rules {
			names = append(names, r.name)
		}
	}
	return names
}

// PolicyTable is the policy as docs/reference/rules.md has it.
func PolicyTable() string {
	var text strings.Builder
	for _, c := range policy() {
		fmt.Fprintf(&text, "\n## %s\n\n| rule | what it does |\n|---|---|\n", strings.ToUpper(c.name[:1])+c.name[1:])
		for _, r := range c.rules {
			fmt.Fprintf(&text, "| %s | %s |\n", r.name, r.does)
		}
	}
	return text.String()
}
