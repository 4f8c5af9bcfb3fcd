// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A row is one line of the table. Floor and ratio are missing where nothing is
// there to compare with.
type row struct {
	Name     string   `json:"name"`
	Unit     string   `json:"unit"`
	Measured float64  `json:"measured"`
	Floor    *float64 `json:"floor"`
	Ratio    *float64 `json:"ratio"`
	Goal     *goal    `json:"goal"`
	Raw      sample   `json:"raw"`
	FloorRaw sample   `json:"floorRaw"`
	Commit   string   `json:"commit"`
	Version  string   `json:"version,omitempty"` // of the operator that was being made; empty before 0.9
}

// A goal is about the ratio, or about what was measured if there is no floor.
type goal struct {
	Max *float64 `json:"max,omitempty"`
	Min *float64 `json:"min,omitempty"`
}

func atMost(most float64) *goal { return &goal{Max: &most} }

func alone(name, unit string, measured float64, g *goal, raw sample) row {
	return row{Name: name, Unit: unit, Measured: measured, Goal: g, Raw: raw, Commit: commit(), Version: version()}
}

func beside(name, unit string, measured, floor float64, g *goal, raw, floorRaw sample) row {
	r := alone(name, unit, measured, g, raw)
	ratio := measured / floor
	r.Floor, r.Ratio, r.FloorRaw = &floor, &ratio, floorRaw
	return r
}

// verdict is empty where there is no goal.
func (r row) verdict() string {
	if r.Goal == nil {
		return ""
	}
	value := r.Measured
	if r.Ratio != nil {
		value = *r.Ratio
	}
	if r.Goal.Max != nil && value > *r.Goal.Max || r.Goal.Min != nil && value < *r.Goal.Min {
		return "**missed**"
	}
	return "met"
}

func (r row) goalText() string {
	switch {
	case r.Goal == nil:
		return ""
	case r.Goal.Max != nil && r.Ratio != nil:
		return "≤ " + number(r.Goal.Max) + " × floor"
	case r.Goal.Max != nil:
		return "≤ " + number(r.Goal.Max)
	default:
		return "≥ " + number(r.Goal.Min)
	}
}

func number(n *float64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatFloat(*n, 'f', -1, 64)
}

func rounded(n *float64) string {
	if n == nil {
		return ""
	}
	text := strings.TrimRight(strconv.FormatFloat(*n, 'f', 2, 64), "0")
	return strings.TrimRight(text, ".")
}

// table marks rows that were measured for an earlier version: they may hide what has become slower since.
func table(rows []row, current string) string {
	var text strings.Builder
	text.WriteString("| Benchmark | Unit | Measured | Floor | Ratio | Goal | | Runs | Commit |\n|---|---|--:|--:|--:|--:|---|--:|---|\n")
	for _, r := range rows {
		if r.Version != current {
			r.Commit += ", **old**"
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s | %s | %d | %s |\n", r.Name, r.Unit,
			rounded(&r.Measured), rounded(r.Floor), rounded(r.Ratio), r.goalText(), r.verdict(), len(r.Raw), r.Commit)
	}
	return text.String()
}

// save puts the rows in place of older ones of their names.
func save(o options, machine []string, rows []row) error {
	var all []row
	text, err := os.ReadFile(o.json)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read older results: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(text, &all); err != nil {
			return fmt.Errorf("read older results: %w", err)
		}
	}
	all = merge(all, rows)
	if text, err = json.MarshalIndent(all, "", "  "); err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	if err := os.WriteFile(o.json, append(text, '\n'), 0o644); err != nil { //nolint:gosec // for everybody to read
		return fmt.Errorf("write the results: %w", err)
	}
	return rewrite(o.md, strings.Join(machine, "\n")+"\n\n"+table(all, version()))
}

func merge(all, rows []row) []row {
	for _, r := range rows {
		if i := slices.IndexFunc(all, func(old row) bool { return old.Name == r.Name }); i >= 0 {
			all[i] = r
		} else {
			all = append(all, r)
		}
	}
	return all
}

const (
	tableBegin = "<!-- table: begin; written by test/bench -->\n"
	tableEnd   = "<!-- table: end -->\n"
)

// rewrite puts the text between the two markers of the page.
func rewrite(path, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	before, rest, begins := strings.Cut(string(page), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		return fmt.Errorf("%s has no %q and %q", path, strings.TrimSpace(tableBegin), strings.TrimSpace(tableEnd))
	}
	page = []byte(before + tableBegin + "\n" + text + "\n" + tableEnd + after)
	if err := os.WriteFile(path, page, 0o644); err != nil { //nolint:gosec // for everybody to read
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// describe says on what was measured.
func describe(ctx context.Context, c client.Client) ([]string, error) {
	var nodes corev1.NodeList
	if err := c.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	lines := []string{
		fmt.Sprintf("- Machine of the benchmark: %d cores (%s), %s of memory, Linux %s", runtime.NumCPU(),
			field("/proc/cpuinfo", "model name"), field("/proc/meminfo", "MemTotal"), kernel()),
	}
	for _, node := range nodes.Items {
		info := node.Status.NodeInfo
		lines = append(lines, fmt.Sprintf("- Node %s: Kubernetes %s, %s, %s, %s cores", node.Name, info.KubeletVersion,
			info.ContainerRuntimeVersion, info.OSImage, node.Status.Capacity.Cpu()))
	}
	for _, line := range lines {
		fmt.Println(line)
	}
	return lines, nil
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "of unknown release"
	}
	release, _, _ := strings.Cut(strings.TrimSpace(string(text)), "-")
	return release
}

// field is the value of the first line with a key, in the files of /proc.
func field(path, key string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func commit() string {
	text, err := exec.Command("git", "-c", "safe.directory=*", "rev-parse", "--short=10", "HEAD").Output()
	return cmp.Or(strings.TrimSpace(string(text)), fmt.Sprint(err))
}

var versionLine = regexp.MustCompile(`(?m)^VERSION \?= (\S+)$`)

// version is the one that the Makefile names.
func version() string {
	text, err := os.ReadFile("Makefile")
	if found := versionLine.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return fmt.Sprint("unknown: ", err)
}
