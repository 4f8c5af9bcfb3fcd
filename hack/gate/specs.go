// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

const (
	// artifacts is where reports, and what failed specs left, are kept.
	artifacts = "artifacts"
	// mostLooks is how many containers are looked at again: more than that is no accident.
	mostLooks = 3
	// slowest is how many specs are listed by their time.
	slowest = 20
)

// runSpecs runs the suite. Containers that failed run again, whole and alone, in namespaces of their own: a spec of an Ordered container
// makes no sense without those before it.
func runSpecs(ctx context.Context, s suite) error {
	flags := []string{"--procs=" + s.procs}
	if s.files != "" {
		flags = append(flags, "--focus-file="+s.files)
	}
	first, failure := s.run(ctx, "specs.json", flags...)
	again := failedContainers(first)
	fmt.Print(slowestOf(first))
	switch {
	case failure == nil && ranIn(first) == 0:
		return fmt.Errorf("no spec has the labels %s in files %s", s.labels, cmp.Or(s.files, "of any name"))
	case failure == nil || ctx.Err() != nil:
		return cmp.Or(failure, ctx.Err())
	case brokenBy(first) != "":
		return fmt.Errorf("the run as a whole failed, so that a second look at some of it proves nothing: %s: %w", brokenBy(first), failure)
	case len(again) == 0 || len(again) > mostLooks:
		return fmt.Errorf("%d containers failed, of which at most %d are looked at again: %w", len(again), mostLooks, failure)
	}
	fmt.Printf("\n##### a second look at %d containers, alone\n", len(again))
	flags = []string{"--procs=1"}
	for _, c := range again {
		flags = append(flags, "--focus-file="+c.place)
	}
	second, failure := s.run(ctx, "specs-again.json", flags...)
	verdicts := lookedAgain(first, second)
	fmt.Println(strings.Join(verdicts, "\n"))
	if failure == nil && ranIn(second) == 0 {
		return errors.New("the second look ran no spec")
	}
	return failure
}

func (s suite) run(ctx context.Context, report string, flags ...string) ([]types.Report, error) {
	file := filepath.Join(artifacts, report)
	if err := os.MkdirAll(artifacts, 0o750); err != nil {
		return nil, err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	arguments := append([]string{
		"run", "-v", "--no-color", "--label-filter=" + s.labels, "--timeout=" + s.timeout, "--output-dir=" + artifacts, "--json-report=" + report,
	}, flags...)
	command := exec.CommandContext(ctx, s.ginkgo, append(arguments, "./test/e2e")...) //nolint:gosec // given by the Makefile
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) } // it cleans up
	command.WaitDelay = 2 * time.Minute
	failure := command.Run()
	text, err := os.ReadFile(file) //nolint:gosec // named above
	if err != nil {
		return nil, errors.Join(failure, err)
	}
	var reports []types.Report
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, errors.Join(failure, fmt.Errorf("%s: %w", file, err))
	}
	return reports, failure
}

// container is a Describe of the suite that failed, and the file and line by which Ginkgo finds it.
type container struct{ name, place string }

// failedContainers are those below the one that holds all.
func failedContainers(reports []types.Report) []container {
	var found []container
	for spec := range specsOf(reports) {
		if !spec.Failed() || len(spec.ContainerHierarchyTexts) < 2 {
			continue
		}
		at := spec.ContainerHierarchyLocations[1]
		c := container{name: spec.ContainerHierarchyTexts[1], place: fmt.Sprintf("%s:%d", filepath.Base(at.FileName), at.LineNumber)}
		if !slices.Contains(found, c) {
			found = append(found, c)
		}
	}
	return found
}

// brokenBy is why a run failed as a whole: its time was over, a process ended, or what prepares or clears the cluster failed. Specs
// that did not run because of it failed nowhere.
func brokenBy(reports []types.Report) string {
	for _, report := range reports {
		if len(report.SpecialSuiteFailureReasons) > 0 {
			return strings.Join(report.SpecialSuiteFailureReasons, ", ")
		}
	}
	for spec := range specsOf(reports) {
		if spec.Failed() && len(spec.ContainerHierarchyTexts) < 2 {
			return spec.LeafNodeType.String() + ": " + reasonOf(spec)
		}
	}
	return ""
}

// lookedAgain says of each spec that has failed how it ended the second time, with the reason of the first.
func lookedAgain(first, second []types.Report) []string {
	passed := map[string]bool{}
	for spec := range specsOf(second) {
		passed[spec.FullText()] = spec.State == types.SpecStatePassed
	}
	var lines []string
	for spec := range specsOf(first) {
		if !spec.Failed() {
			continue
		}
		how := "RED AGAIN"
		if passed[spec.FullText()] {
			how = "FLAKED"
		}
		lines = append(lines, fmt.Sprintf("%s: %s, %s", how, spec.FullText(), reasonOf(spec)))
	}
	return lines
}

func reasonOf(spec types.SpecReport) string {
	return shortened(strings.Join(strings.Fields(spec.FailureMessage()), " ") + " (" + filepath.Base(spec.FailureLocation().String()) + ")")
}

// slowestOf lists the specs that took longest.
func slowestOf(reports []types.Report) string {
	var all []types.SpecReport
	for spec := range specsOf(reports) {
		if ran(spec) {
			all = append(all, spec)
		}
	}
	slices.SortStableFunc(all, func(a, b types.SpecReport) int { return cmp.Compare(b.RunTime, a.RunTime) })
	var b strings.Builder
	fmt.Fprintf(&b, "\n##### the slowest of %d specs\n", len(all))
	for _, spec := range all[:min(slowest, len(all))] {
		fmt.Fprintf(&b, "%6.1f s  %s\n", spec.RunTime.Seconds(), spec.FullText())
	}
	return b.String()
}

func ranIn(reports []types.Report) int {
	count := 0
	for spec := range specsOf(reports) {
		if ran(spec) {
			count++
		}
	}
	return count
}

func ran(spec types.SpecReport) bool {
	return spec.LeafNodeType == types.NodeTypeIt && spec.State != types.SpecStateSkipped && spec.State != types.SpecStatePending
}

func specsOf(reports []types.Report) func(yield func(types.SpecReport) bool) {
	return func(yield func(types.SpecReport) bool) {
		for _, report := range reports {
			for _, spec := range report.SpecReports {
				if !yield(spec) {
					return
				}
			}
		}
	}
}
