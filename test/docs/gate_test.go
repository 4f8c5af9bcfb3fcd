// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostFlakes is how many specs may be in quarantine: with more of them the gate proves little.
const mostFlakes = 5

var (
	featureRows = regexp.MustCompile(`(?m)^\| .* \| \[e2e\]\((test/e2e/\w+_test\.go)\) \|$`)
	flakeRows   = regexp.MustCompile("(?m)^\\| `(.+?)` \\| \\d{4}-\\d{2}-\\d{2} \\| .+ \\|$")
	quarantined = regexp.MustCompile(`\b(?:It|Describe)\("([^"]*)",[^{]*Label\([^)]*"quarantine"`)
)

// TestTheGateHasEveryFeature: at least one spec of each feature of the README runs on each change.
func TestTheGateHasEveryFeature(t *testing.T) {
	rows := featureRows.FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(rows) < 20 {
		t.Errorf("only %d features were found", len(rows))
	}
	for _, row := range rows {
		if text := read(t, row[1]); !strings.Contains(text, `Label("gate"`) && !strings.Contains(text, "gateThenLong(") {
			t.Errorf("README.md: no spec of %s has the label gate", row[1])
		}
	}
}

// TestFlakesAreInQuarantine: docs/flakes.md lists the specs that have the label, and no others.
func TestFlakesAreInQuarantine(t *testing.T) {
	var listed, labelled []string
	for _, row := range flakeRows.FindAllStringSubmatch(read(t, "docs/flakes.md"), -1) {
		listed = append(listed, row[1])
	}
	files, err := filepath.Glob(filepath.Join(root, "test/e2e/*_test.go"))
	if err != nil || len(files) < 50 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		for _, spec := range quarantined.FindAllStringSubmatch(read(t, "test/e2e/"+filepath.Base(file)), -1) {
			labelled = append(labelled, spec[1])
		}
	}
	slices.Sort(listed)
	slices.Sort(labelled)
	if !slices.Equal(listed, labelled) {
		t.Errorf("docs/flakes.md lists %q, the label quarantine have %q", listed, labelled)
	}
	if len(listed) > mostFlakes {
		t.Errorf("%d specs are in quarantine, %d may be", len(listed), mostFlakes)
	}
}
