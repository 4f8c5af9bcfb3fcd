// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const widest = 200

// generated are pages whose tables are written from the code, or by the run that they record.
var generated = regexp.MustCompile(`^docs/(test-runs|reference/(api|rules|[a-z]+-rules))\.md$`)

// TestTablesFitAScreen: a cell that needs more is a paragraph, and stands below its table.
func TestTablesFitAScreen(t *testing.T) {
	for _, page := range pages(t) {
		if page != "README.md" && !strings.HasPrefix(page, "docs/") || generated.MatchString(page) {
			continue
		}
		for i, line := range strings.Split(read(t, page), "\n") {
			if length := utf8.RuneCountInString(line); strings.HasPrefix(line, "|") && length > widest {
				t.Errorf("%s:%d: a line of a table has %d characters, %d are allowed", page, i+1, length, widest)
			}
		}
	}
}

// TestEveryPageIsReached: links lead from the index to every page of docs.
func TestEveryPageIsReached(t *testing.T) {
	const index = "docs/README.md"
	all := pages(t)
	reached := map[string]bool{index: true}
	for next := []string{index}; len(next) > 0; next = next[1:] {
		for _, to := range linksOf(t, next[0]) {
			if strings.HasPrefix(to.file, "docs/") && slices.Contains(all, to.file) && !reached[to.file] {
				reached[to.file] = true
				next = append(next, to.file)
			}
		}
	}
	for _, page := range all {
		if strings.HasPrefix(page, "docs/") && filepath.Base(page) != "0000-template.md" && !reached[page] {
			t.Errorf("%s: no link leads there from %s", page, index)
		}
	}
}
