// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestRowsOfEarlierVersionsAreMarked(t *testing.T) {
	text := table([]row{
		{Name: "restart", Commit: "a260cd5717"}, // of before rows had a version
		{Name: "create", Commit: "408da37a0a", Version: "0.8.0"},
		{Name: "allkilled", Commit: "191abfe7aa", Version: "0.9.0"},
	}, "0.9.0")
	for name, old := range map[string]bool{"restart": true, "create": true, "allkilled": false} {
		_, line, found := strings.Cut(text, "\n| "+name+" ")
		line, _, _ = strings.Cut(line, "\n")
		if !found || strings.Contains(line, "**old**") != old {
			t.Errorf("%s: %q, want marked as old: %t", name, line, old)
		}
	}
}
