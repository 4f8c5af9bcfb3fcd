package inplace

import (
	"fmt"
	"strings"
)

// RulesTable is the plan as docs/reference/restore-rules.md has it.
func RulesTable() string {
	var text strings.Builder
	text.WriteString("\n| rule | what it does |\n|---|---|\n")
	for _, r := range rules {
		fmt.Fprintf(&text, "| %s | %s |\n", r.name, r.does)
	}
	return text.String()
}

// RuleNames are the names of all rules, in their order.
func RuleNames() []string {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}
