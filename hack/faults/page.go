// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	most   = 3   // links in a row
	widest = 200 // characters in a row: test/docs allows no more
)

func (l list) page(found map[string][]test) string {
	var b strings.Builder
	b.WriteString("<!-- make docs writes this page from docs/faults.yaml and the tests. -->\n\n# Faults\n\n" + l.Intro)
	for _, s := range l.Sections {
		what := "fault"
		if s.Never {
			what = "never"
		}
		fmt.Fprintf(&b, "\n## %s\n\n| # | %s | tests | status |\n|---|---|---|---|\n", s.Title, what)
		for _, f := range s.Faults {
			b.WriteString(f.row(found[f.Number]) + "\n")
		}
	}
	return b.String()
}

// row has as many links as fit, at most three.
func (f fault) row(found []test) string {
	tests := f.order(found)
	for shown := min(most, len(tests)); ; shown-- {
		row := fmt.Sprintf("| %s | %s | %s | %s |", f.Number, f.Fault, f.links(tests, shown), f.status(tests))
		if shown <= 1 || utf8.RuneCountInString(row) <= widest {
			return row
		}
	}
}

func (f fault) links(tests []test, shown int) string {
	var all []string
	for _, t := range tests[:shown] {
		all = append(all, fmt.Sprintf("[%s](../%s)", f.text(t), t.file))
	}
	links := strings.Join(all, ", ")
	if more := len(tests) - shown; more > 0 {
		links += fmt.Sprintf(" and %d more", more)
	}
	return links
}

func (f fault) status(tests []test) string {
	if f.Status != "" {
		return f.Status
	}
	if len(tests) == 0 {
		return "not shown"
	}
	return "shown"
}

// text is what a link stands on.
func (f fault) text(t test) string {
	switch {
	case isEndToEnd(t):
		return "e2e"
	case f.names(t):
		return "`TestFault" + f.Number + "…`"
	case t.name != "":
		return "`" + t.name + "`"
	default:
		return "`" + filepath.Base(t.file) + "`"
	}
}

// names is true of a test that is named after the fault.
func (f fault) names(t test) bool {
	named := functions.FindStringSubmatch(t.name)
	return named != nil && named[1] == f.Number
}

func isEndToEnd(t test) bool { return strings.HasPrefix(t.file, "test/e2e/") }

// order has one test of each file, the most telling first: end to end, then those that are listed by name, those that are named after the
// fault, and those that show it among others.
func (f fault) order(found []test) []test {
	listed := f.explicit()
	rank := func(t test) int {
		switch {
		case isEndToEnd(t):
			return 0
		case slices.Contains(listed, t):
			return 1
		case f.names(t):
			return 2
		default:
			return 3
		}
	}
	all := slices.Concat(listed, found)
	slices.SortStableFunc(all, func(a, b test) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.file, b.file))
	})
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(t test) bool {
		again := seen[t.file]
		seen[t.file] = true
		return again
	})
}
