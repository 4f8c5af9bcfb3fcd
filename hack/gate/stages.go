// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// logs is where each stage leaves its output.
const logs = "artifacts/stages"

// stage is a target of make, and how it ended.
type stage struct {
	target  string
	vital   bool // nothing after it makes sense when it fails
	took    time.Duration
	failed  bool
	reasons []string
	flaked  []string // specs that were red once and green at the second look
	omitted []string // what it has not looked at, in its own words
}

// parseStages reads the targets; an exclamation mark makes a stage vital.
func parseStages(targets []string) []stage {
	var all []stage
	for _, target := range targets {
		name, vital := strings.CutSuffix(target, "!")
		all = append(all, stage{target: name, vital: vital})
	}
	return all
}

// runStages makes one target after the other. With a commit, those that were green at it before, in this folder, are not made again: a run
// of hours that ended early goes on where it was.
func runStages(ctx context.Context, commit string, targets []string) ([]stage, error) {
	if err := os.MkdirAll(logs, 0o750); err != nil {
		return nil, err
	}
	var ran []stage
	all := parseStages(targets)
	for _, s := range all {
		s = s.run(ctx, commit)
		ran = append(ran, s)
		if s.failed && s.vital || ctx.Err() != nil {
			break
		}
	}
	fmt.Print(summary(ran, all[len(ran):]))
	for _, s := range ran {
		if s.failed {
			return ran, fmt.Errorf("not all stages passed; the output of each is in %s", logs)
		}
	}
	return ran, ctx.Err()
}

func (s stage) run(ctx context.Context, commit string) stage {
	begun := time.Now()
	fmt.Printf("\n##### %s\n", s.target)
	file := filepath.Join(logs, s.target+".log")
	green := filepath.Join(logs, s.target+".green")
	var err error
	if s.took = greenBefore(green, commit); s.took > 0 {
		fmt.Printf("was green at %s before\n", commit)
	} else {
		_ = os.Remove(green) // it may be of another commit
		err = s.make(ctx, file)
		s.took = time.Since(begun)
	}
	text, _ := os.ReadFile(file) //nolint:gosec // written a moment ago
	s.flaked, s.omitted = flakes.FindAllString(string(text), -1), linesIn(string(text), omits, skipped)
	if err == nil {
		_ = os.WriteFile(green, []byte(commit+" "+s.took.String()), 0o600) // else it is made again
		return s
	}
	s.failed = true
	if s.reasons = linesIn(string(text), says, explained); len(s.reasons) == 0 {
		s.reasons = []string{err.Error()}
	}
	return s
}

// greenBefore is how long a stage took that was green at this commit; 0 if it was not, or has files that no commit has.
func greenBefore(file, commit string) time.Duration {
	text, _ := os.ReadFile(file) //nolint:gosec // named after a target of make
	of, took, _ := strings.Cut(string(text), " ")
	if of == "" || of != commit {
		return 0
	}
	d, _ := time.ParseDuration(took)
	return d
}

// make shows the output as it comes, and keeps it. The group of processes ends with the stage.
func (s stage) make(ctx context.Context, file string) error {
	kept, err := os.Create(file) //nolint:gosec // named after a target of make
	if err != nil {
		return err
	}
	defer kept.Close()
	command := exec.CommandContext(ctx, "make", s.target) //nolint:gosec // given by the Makefile
	both := io.MultiWriter(os.Stdout, kept)
	command.Stdout, command.Stderr = both, both
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = time.Minute
	return command.Run()
}

var (
	// says are lines by which tests and checks say that they failed: Go's, Ginkgo's, golangci-lint's, those of hack/verify.sh, and make's.
	says = regexp.MustCompile(strings.Join([]string{
		`^\s*--- FAIL: `, `^\s*\[(FAIL|PANICKED!|TIMEDOUT|INTERRUPTED)\] `, `^FAIL  `, `^panic: `,
		`^\S+\.go:\d+:\d+: `, `^RED AGAIN: `, `: \*\*\* `,
	}, "|"))
	flakes = regexp.MustCompile(`(?m)^FLAKED: .*$`)
	// explained are those whose next line has the reason.
	explained = regexp.MustCompile(`^\s*--- FAIL: `)
	// omits are lines by which tests and checks say what they did not look at: those of this program and of hack/verify.sh, Go's, Ginkgo's.
	omits = regexp.MustCompile(`^NOT (TESTED: |CHECKED  )|^\s*--- SKIP: |^S \[SKIPPED\]`)
	// skipped are those whose next line has the reason, or the name.
	skipped = regexp.MustCompile(`^\s*--- SKIP: |^S \[SKIPPED\]`)
	// colors are what Ginkgo writes for a terminal, also where there is none.
	colors = regexp.MustCompile("\x1b\\[[0-9;]*m")
)

// mostLines is how many lines of a stage are printed for one purpose; where there are more, the last line says so.
const mostLines = 20

// linesIn finds the lines of a log that say something, each once, with the next one where that explains them.
func linesIn(log string, says, explained *regexp.Regexp) []string {
	var found []string
	seen := map[string]bool{}
	lines := bufio.NewScanner(strings.NewReader(colors.ReplaceAllString(log, "")))
	lines.Buffer(nil, 1<<24)
	open := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		switch {
		case says.MatchString(lines.Text()) && !seen[line]:
			if len(found) == mostLines {
				return append(found, "and more, which its log has")
			}
			seen[line] = true
			found = append(found, shortened(line))
		case open && line != "":
			found[len(found)-1] = shortened(found[len(found)-1] + ": " + line)
		}
		open = explained.MatchString(lines.Text())
	}
	return found
}

func shortened(line string) string {
	const most = 300
	if len(line) > most {
		return line[:most] + "…"
	}
	return line
}

// summary is the last that is printed: the minutes of each stage, what failed, and what nobody has looked at.
func summary(ran, left []stage) string {
	var b strings.Builder
	b.WriteString("\n##### stages\n")
	for _, s := range ran {
		fmt.Fprintf(&b, "%-6s %5.1f min  %s\n", verdict(!s.failed), s.took.Minutes(), s.target)
	}
	for _, s := range left {
		fmt.Fprintf(&b, "NOT RUN           %s\n", s.target)
	}
	for _, s := range ran {
		for _, line := range slices.Concat(s.flaked, s.reasons, s.omitted) {
			fmt.Fprintf(&b, "%s: %s\n", s.target, line)
		}
	}
	return b.String()
}

func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "FAILED"
}
