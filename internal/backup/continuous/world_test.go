// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package continuous_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/continuous"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// A world is what an operator looks at, and remembers what it writes.
type world struct {
	now            time.Time
	wanted         bool
	hold, obstacle continuous.Obstacle
	history        string // with how often the cluster was recovered, as in a lineage
	members        int    // which a process is started for
	fulls          []full
	asked          continuous.Asked
	job            jobs.Observed
	jobs           int
	status         v1beta1.LogStatus
}

// full is a full backup, and what it is of.
type full struct {
	continuous.Full
	history string
	created time.Time
}

func newWorld() *world {
	return &world{now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), wanted: true, history: "c1-0"}
}

func (w *world) wait(t *testing.T, text string) {
	t.Helper()
	long, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	w.now = w.now.Add(long)
}

func (w *world) add(name string, revision int64) {
	w.fulls = append(w.fulls, full{continuous.Full{Name: name, Revision: revision, Time: w.now}, w.history, w.now})
	slices.SortFunc(w.fulls, func(a, b full) int { return cmp.Compare(a.Revision, b.Revision) })
}

func (w *world) ends(t *testing.T, how string) {
	t.Helper()
	w.job.Ended, w.job.EndedAt = true, w.now
	failed := func(reason jobspec.Reason, final bool) []jobspec.Line {
		return []jobspec.Line{{Failed: &jobspec.Failed{Reason: reason, Message: "it is " + how, Final: final}}}
	}
	switch how {
	case "done":
		w.job.Lines = []jobspec.Line{{Done: &jobspec.Done{}}}
	case "overtaken":
		w.job.Lines = failed(jobspec.Overtaken, true)
	case "setback":
		w.job.Lines = failed(jobspec.SetBack, true)
	case "fenced":
		w.job.Lines = failed(jobspec.Fenced, false)
	case "killed":
		w.job.Trouble = "its Pod is gone, and its log with it"
	default:
		t.Fatalf("unknown word %q", how)
	}
}

// lineage counts what the log itself has found, too.
func (w *world) lineage() string {
	id, n, _ := strings.Cut(w.history, "-")
	var recoveries int64
	_, _ = fmt.Sscan(n, &recoveries)
	return fmt.Sprintf("%s-%d", id, recoveries+w.status.Forks)
}

func (w *world) view() continuous.View {
	v := continuous.View{
		Cluster: "a", UID: "u", Wanted: w.wanted, Flush: time.Second, Hold: w.hold, Obstacle: w.obstacle, Lineage: w.lineage(),
		Job: w.job, Asked: w.asked, Status: w.status, Now: w.now,
	}
	v.For = fmt.Sprintf("%s/%d", v.Lineage, w.members)
	for _, f := range w.fulls {
		if f.history == w.history && continuous.IsSince(w.status, f.Name, f.created) {
			v.Fulls = append(v.Fulls, f.Full)
		}
	}
	return v
}

// look takes one step, and writes the status that follows.
func (w *world) look() (continuous.Step, string) {
	v := w.view()
	step, rule := continuous.Next(v)
	switch s := step.(type) {
	case continuous.CreateBackup:
		w.asked = continuous.Asked{Exists: true}
	case continuous.CreateJob:
		w.jobs++
		w.job = jobs.Observed{Exists: true, Owned: true, Name: s.Name, UID: fmt.Sprint("j", w.jobs), For: v.For, Created: w.now, Begun: w.now}
	case continuous.DeleteJob:
		w.job = jobs.Observed{}
	case continuous.Record, continuous.Rest:
	}
	after := continuous.Report(continuous.Seen{Cluster: &v1beta1.EtcdCluster{}}, v, step, nil)
	if after == nil {
		after = &v1beta1.LogStatus{}
	}
	if after.FullBackup != w.status.FullBackup {
		w.asked = continuous.Asked{}
	}
	w.status = *after
	return step, rule
}

// says is how the status says that the log is.
func (w *world) says() string {
	c := meta.FindStatusCondition(w.status.Conditions, v1beta1.ConditionLogCurrent)
	if c == nil {
		return "nothing is said"
	}
	text := fmt.Sprintf("%s %s", c.Status, c.Reason)
	if s := w.status; s.From != nil {
		text += fmt.Sprintf(", from %d until %d", s.From.Revision, s.Until.Revision)
	}
	for _, g := range w.status.Gaps {
		end := "?"
		if g.Before != nil {
			end = fmt.Sprint(g.Before.Revision)
		}
		text += fmt.Sprintf(", gap after %d to %s", g.After.Revision, end)
	}
	return text
}
