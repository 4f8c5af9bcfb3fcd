// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package continuous_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/etcd-operator/etcd-operator/internal/backup/continuous"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestLog runs the scripts in testdata. Each begins with a cluster that has formed, whose log is wanted, and a store that is ready. A line
// of a script is what happens; below it is what the operator does then, with the rules that decide, and how it says that the log is:
//
//	start                       the first look
//	wait 30s                    time passes
//	unwanted | wanted           spec.backup.continuous
//	hold Paused | free          whether a process may keep the log
//	store away | store ready
//	history c2-0                the cluster is restored or recovered
//	members change              or whatever a process is started for
//	full done 100 | fails | deleted    the full backup that was requested
//	full other 100 | gone       another one is complete, all are deleted
//	job says 120 | problem      how far the log is; what keeps it from going on
//	job leaves                  its Pod is deleted, and its node does not answer
//	job ends done | overtaken | setback | fenced | killed, or is foreign, gone
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestLog(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w := newWorld()
			var out strings.Builder
			for line := range strings.SplitSeq(d.Input, "\n") {
				fmt.Fprintln(&out, line)
				w.happens(t, strings.Fields(line))
				w.settle(t, &out)
			}
			return out.String()
		})
	})
}

// settle looks until nothing is to be done.
func (w *world) settle(t *testing.T, out *strings.Builder) {
	for range 20 {
		step, rule := w.look()
		fmt.Fprintf(out, "  %s (%s)\n", step, rule)
		if _, rests := step.(continuous.Rest); rests {
			fmt.Fprintf(out, "  = %s\n", w.says())
			return
		}
	}
	t.Fatalf("it never settles:\n%s", out)
}

func (w *world) happens(t *testing.T, words []string) {
	t.Helper()
	what, value := words[0], ""
	if len(words) > 1 {
		value = words[1]
	}
	switch what {
	case "start":
	case "wait":
		w.wait(t, value)
	case "unwanted", "wanted":
		w.wanted = what == "wanted"
	case "hold":
		w.hold = continuous.Obstacle{Reason: value, Message: "the log is not kept"}
	case "free":
		w.hold = continuous.Obstacle{}
	case "store":
		w.obstacle = continuous.Obstacle{}
		if value == "away" {
			w.obstacle = continuous.Obstacle{Reason: "StoreUnready", Message: "the log waits: the store is not ready"}
		}
	case "history":
		w.history = value
	case "members":
		w.members++
	case "full":
		w.fullIs(t, words[1:])
	case "job":
		w.jobIs(t, words[1:])
	default:
		t.Fatalf("unknown word %q", what)
	}
}

func (w *world) fullIs(t *testing.T, words []string) {
	t.Helper()
	switch words[0] {
	case "done":
		w.asked.Complete = true
		w.add(w.status.FullBackup, number(t, words[1]))
	case "fails":
		w.asked.Failed = "the store is full"
	case "deleted":
		w.asked = continuous.Asked{}
	case "other":
		w.add("a-"+words[1], number(t, words[1]))
	case "gone":
		w.fulls = nil
	default:
		t.Fatalf("unknown word %q", words[0])
	}
}

func (w *world) jobIs(t *testing.T, words []string) {
	t.Helper()
	switch words[0] {
	case "says":
		if words[1] == "problem" {
			w.job.Progress.Follow.Problem = "the store is away"
			return
		}
		w.job.Progress = jobspec.Progress{Follow: &jobspec.Logged{Revision: number(t, words[1]), Until: w.now}}
	case "leaves":
		w.job.Due = w.now.Add(jobspec.FollowGrace)
	case "ends":
		w.ends(t, words[1])
	case "foreign":
		w.job.Exists, w.job.Owned, w.job.Name = true, false, "a-log"
	case "gone":
		w.job.Exists = false
	default:
		t.Fatalf("unknown word %q", words[0])
	}
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
