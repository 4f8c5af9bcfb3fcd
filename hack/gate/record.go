// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// record is the page of runs of all tests, which make test-all writes.
const record = "docs/test-runs.md"

// head is where rows begin: the newest is the first.
const head = "|---|---|---|---|--:|--:|---|\n"

var (
	// rows are those of trees that were clean: their commits, and the stages that were green.
	rows = regexp.MustCompile(`(?m)^\| \d{4}-\d{2}-\d{2} \| ([0-9a-f]{12}) \| (?:green|red) \| ([^|]*) \|`)
	// counted is what Ginkgo says at the end of a run.
	counted = regexp.MustCompile(`(\d+) Passed \| (\d+) Failed`)
)

// lastGreen is the commit of the newest run in which that stage was green, of a tree that was clean; empty if there was none.
func lastGreen(page, target string) string {
	for _, row := range rows.FindAllStringSubmatch(page, -1) {
		if slices.Contains(strings.Split(row[2], ", "), target) {
			return row[1]
		}
	}
	return ""
}

// rowOf is the line of a run: when, of which commit, how it ended, which stages were green, how many end-to-end specs passed and failed,
// minutes, and what failed or flaked.
func rowOf(day time.Time, commit string, ran []stage, passed, failed int) string {
	result, minutes := "green", 0.0
	var green, told []string
	for _, s := range ran {
		minutes += s.took.Minutes()
		if s.failed {
			result = "red"
			told = append(told, s.target+": "+s.reasons[0])
		} else {
			green = append(green, s.target)
		}
		told = append(told, s.flaked...)
	}
	cell := strings.ReplaceAll(strings.Join(told, "; "), "|", "/")
	return fmt.Sprintf("| %s | %s | %s | %s | %d of %d | %.0f | %s |\n", day.Format(time.DateOnly), commit, result,
		cmp.Or(strings.Join(green, ", "), "none"), passed, passed+failed, minutes, cmp.Or(cell, "none"))
}

// insert puts the row before older ones.
func insert(page, row string) (string, error) {
	before, after, found := strings.Cut(page, head)
	if !found {
		return "", fmt.Errorf("%s has no line %q", record, head)
	}
	return before + head + row + after, nil
}

// runAll makes all stages of a commit, and records how they ended.
func runAll(ctx context.Context, targets []string) error {
	commit, err := output("git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		return err
	}
	changed, err := output("git", "status", "--porcelain", "--", ".", ":!"+record)
	if err != nil {
		return err
	}
	if changed != "" {
		ran, err := runStages(ctx, "", targets)
		return errors.Join(err, writeRecord(commit+" with changes", ran))
	}
	ran, err := runStages(ctx, commit, targets)
	return errors.Join(err, writeRecord(commit, ran))
}

func writeRecord(commit string, ran []stage) error {
	if len(ran) == 0 {
		return nil // nothing was tested
	}
	page, err := os.ReadFile(record)
	if err != nil {
		return err
	}
	passed, failed := 0, 0
	for _, s := range ran {
		text, _ := os.ReadFile(filepath.Join(logs, s.target+".log")) //nolint:gosec // written by this run
		p, f := specsIn(string(text))
		passed, failed = passed+p, failed+f
	}
	text, err := insert(string(page), rowOf(time.Now(), commit, ran, passed, failed))
	if err != nil {
		return err
	}
	return os.WriteFile(record, []byte(text), 0o644) //nolint:gosec // for everybody to read
}

// specsIn counts by the last run of each suite in a log. A second look comes after a first, of whose failures it says how they end.
func specsIn(log string) (passed, failed int) {
	for _, match := range counted.FindAllStringSubmatch(log, -1) {
		p, _ := strconv.Atoi(match[1])
		f, _ := strconv.Atoi(match[2])
		if passed == 0 {
			passed, failed = p, f
			continue
		}
		passed, failed = passed+failed-f, f
	}
	return passed, failed
}

// runChanged makes a target if files that it depends on differ from those of the last run in which its stage was green.
func runChanged(target, of string, paths []string) error {
	page, err := os.ReadFile(record)
	if err != nil {
		return err
	}
	since := lastGreen(string(page), of)
	if since == "" {
		fmt.Printf("NOT TESTED: %s, since no run of %s was green yet (%s)\n", target, of, record)
		return nil
	}
	if exec.Command("git", "cat-file", "-e", since).Run() == nil {
		changed, err := output("git", slices.Concat([]string{"diff", "--name-only", since, "--"}, paths)...)
		if err != nil {
			return err
		}
		if changed == "" {
			fmt.Printf("as tested: %s, since what it depends on is that of %s, at which %s was green\n", target, since, of)
			return nil
		}
		fmt.Printf("changed since %s, at which %s was green:\n%s\n", since, of, changed)
	}
	command := exec.Command("make", target) //nolint:gosec // given by the Makefile
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	return command.Run()
}

func output(name string, arguments ...string) (string, error) {
	text, err := exec.Command(name, arguments...).Output() //nolint:gosec // git
	return strings.TrimSpace(string(text)), err
}
