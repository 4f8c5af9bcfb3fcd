// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestARunIsRecordedBeforeOlderOnes(t *testing.T) {
	day := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	green := rowOf(day, "0123456789ab", []stage{{target: "lint", took: 90 * time.Second}, {
		target: "test-e2e", took: time.Hour, flaked: []string{"FLAKED: a | b, late"},
	}}, 140, 0)
	if want := "| 2026-11-30 | 0123456789ab | green | lint, test-e2e | 140 of 140 | 62 | FLAKED: a / b, late |\n"; green != want {
		t.Errorf("got %s, want %s", green, want)
	}
	red := rowOf(day, "ba9876543210", []stage{{target: "lint", failed: true, reasons: []string{"x", "y"}}, {target: "helm-test"}}, 0, 0)
	if want := "| 2026-11-30 | ba9876543210 | red | helm-test | 0 of 0 | 0 | lint: x |\n"; red != want {
		t.Errorf("got %s, want %s", red, want)
	}
	page, err := insert("# Runs\n\n"+head, green)
	if err != nil {
		t.Fatal(err)
	}
	if page, err = insert(page, red); err != nil || !strings.HasSuffix(page, head+red+green) {
		t.Errorf("got %s, %v", page, err)
	}
	for target, want := range map[string]string{"lint": "0123456789ab", "helm-test": "ba9876543210", "helm": "", "none": ""} {
		if got := lastGreen(page, target); got != want {
			t.Errorf("%s was green at %q last, want %q", target, got, want)
		}
	}
	if _, err := insert("# Runs", green); err == nil {
		t.Error("a page without a table took a row")
	}
}

func TestARunWithChangesProvesNothingOfItsCommit(t *testing.T) {
	changed := rowOf(time.Now(), "0123456789ab with changes", []stage{{target: "lint"}}, 1, 0)
	if got := lastGreen(head+changed, "lint"); got != "" {
		t.Errorf("the last green one is %q", got)
	}
	if got := lastGreen(head, "lint"); got != "" {
		t.Errorf("of no run the last green one is %q", got)
	}
}

func TestAStageIsNotMadeAgainAtACommitWhereItWasGreen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "lint.green")
	if err := os.WriteFile(file, []byte("0123456789ab 1m30s"), 0o600); err != nil {
		t.Fatal(err)
	}
	for commit, want := range map[string]time.Duration{"0123456789ab": 90 * time.Second, "ba9876543210": 0, "": 0} {
		if got := greenBefore(file, commit); got != want {
			t.Errorf("at %q: it took %v, want %v", commit, got, want)
		}
	}
	if got := greenBefore(file+"x", ""); got != 0 {
		t.Errorf("a stage that never was green took %v", got)
	}
}

func TestSpecsAreCountedWithTheirSecondLook(t *testing.T) {
	first := "FAIL! -- 42 Passed | 2 Failed | 0 Pending | 149 Skipped\n"
	for log, want := range map[string][2]int{
		"SUCCESS! -- 44 Passed | 0 Failed | 0 Pending | 149 Skipped": {44, 0},
		first: {42, 2},
		first + "SUCCESS! -- 9 Passed | 0 Failed | 0 Pending":  {44, 0},
		first + "FAIL! -- 8 Passed | 1 Failed | 0 Pending | 0": {43, 1},
		"ok": {0, 0},
	} {
		if passed, failed := specsIn(log); passed != want[0] || failed != want[1] {
			t.Errorf("%q: %d passed and %d failed, want %v", log, passed, failed, want)
		}
	}
}
