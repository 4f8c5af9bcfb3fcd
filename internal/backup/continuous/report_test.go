// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package continuous_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/continuous"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// running is a log that moves.
func running() continuous.View {
	moved := metav1.NewTime(noon.Add(-10 * time.Second))
	return continuous.View{
		Wanted: true, Flush: time.Second, Lineage: "c1-0", For: "c1-0/x", Now: noon, Fulls: []continuous.Full{{Name: "first", Revision: 100}},
		Status: v1beta1.LogStatus{
			Lineage: "c1-0", Base: &v1beta1.BackupPoint{Name: "first", Revision: 100}, MovedAt: &moved,
			Until: &v1beta1.LogPoint{Revision: 110, Time: moved},
		},
		Job: jobs.Observed{Exists: true, Owned: true, Name: "a-log", For: "c1-0/x", Begun: noon.Add(-time.Hour), Output: jobs.Output{
			Progress: jobspec.Progress{Follow: &jobspec.Logged{Revision: 120, Until: noon}},
		}},
	}
}

// TestCondition is what LogCurrent says.
func TestCondition(t *testing.T) {
	still := func(v *continuous.View) {
		v.Job.Progress.Follow.Revision, v.Job.Progress.Follow.Until = 110, v.Status.Until.Time.Time
	}
	for name, c := range map[string]struct {
		change         func(*continuous.View)
		failed         error
		reason, quotes string
	}{
		"as wanted": {reason: v1beta1.ReasonLogCurrent, quotes: "within 1s"},
		"a step failed": {
			failed: errors.New("quota exceeded"), reason: v1beta1.ReasonStepFailed, quotes: "quota exceeded",
		},
		"its Pod does not run": {change: func(v *continuous.View) {
			v.Job.Progress, v.Job.Trouble = jobspec.Progress{}, "0/3 nodes are available"
		}, reason: v1beta1.ReasonLogNotRunning, quotes: "0/3 nodes"},
		"it has said nothing yet": {change: func(v *continuous.View) { v.Job.Progress = jobspec.Progress{} }, reason: v1beta1.ReasonLogStarting},
		"a member restarts": {change: func(v *continuous.View) {
			still(v)
			v.Job.Progress.Follow.Problem = "a-1 is away"
		}, reason: v1beta1.ReasonLogCurrent},
		"the store is away": {change: func(v *continuous.View) {
			still(v)
			v.Now, v.Job.Progress.Follow.Problem = noon.Add(time.Minute), "the store is away"
		}, reason: v1beta1.ReasonLogBehind, quotes: "the store is away"},
		"it is silent": {change: func(v *continuous.View) {
			still(v)
			v.Now = noon.Add(3 * time.Minute)
		}, reason: v1beta1.ReasonLogBehind, quotes: "does not say why"},
		"it has long to flush": {change: func(v *continuous.View) {
			still(v)
			v.Now, v.Flush = noon.Add(3*time.Minute), time.Minute
		}, reason: v1beta1.ReasonLogCurrent, quotes: "within 1m0s"},
		"it cannot be read": {change: func(v *continuous.View) {
			v.Now, v.Job.Progress, v.Job.Unread = noon.Add(3*time.Minute), jobspec.Progress{}, "100% of nodes are silent"
		}, reason: v1beta1.ReasonLogBehind, quotes: "100% of nodes"},
		"there was a gap": {change: func(v *continuous.View) {
			v.Status.Gaps = []v1beta1.LogGap{{
				After: v1beta1.LogPoint{Revision: 95}, Before: v.Status.Base, Because: "it was compacted",
			}}
		}, reason: v1beta1.ReasonLogCurrent, quotes: "after revision 95 and before EtcdBackup first, at revision 100: it was compacted"},
	} {
		v := running()
		if c.change != nil {
			c.change(&v)
		}
		step, _ := continuous.Next(v)
		got := meta.FindStatusCondition(report(v, step, c.failed).Conditions, v1beta1.ConditionLogCurrent)
		if got == nil || got.Reason != c.reason || !strings.Contains(got.Message, c.quotes) || got.ObservedGeneration != 7 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func report(v continuous.View, step continuous.Step, failed error) *v1beta1.LogStatus {
	return continuous.Report(continuous.Seen{Cluster: &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Generation: 7}}}, v, step, failed)
}

// TestOnlyProgressOfThisLogCounts: not what a Job says of what was before its base, or of another lineage, and never what goes back.
func TestOnlyProgressOfThisLogCounts(t *testing.T) {
	for name, change := range map[string]func(*continuous.View){
		"before the base":  func(v *continuous.View) { v.Job.Progress.Follow.Revision = 99 },
		"another lineage":  func(v *continuous.View) { v.Job.For = "c1-1/x" },
		"a lower revision": func(v *continuous.View) { v.Job.Progress.Follow.Revision = 109 },
		"without a time":   func(v *continuous.View) { v.Job.Progress.Follow.Until = time.Time{} },
		"no base":          func(v *continuous.View) { v.Status.Base = nil },
	} {
		v := running()
		change(&v)
		if got := report(v, continuous.Rest{Running: true}, nil); got.Until.Revision != 110 {
			t.Errorf("%s: %+v", name, got.Until)
		}
	}
	v := running()
	v.Status.Failures, v.Status.RetryAt, v.Status.Failure = 3, &metav1.Time{Time: noon}, "it was killed"
	got := report(v, continuous.Rest{Running: true}, nil)
	if got.Until.Revision != 120 || !got.MovedAt.Time.Equal(noon) || got.Failures != 0 || got.Failure != "" || got.RetryAt != nil {
		t.Errorf("%+v", got)
	}
	if got.From == nil || got.From.Name != "first" {
		t.Errorf("from %+v", got.From)
	}
}

// TestFailedStepIsNotRemembered: what could not be written decides nothing.
func TestFailedStepIsNotRemembered(t *testing.T) {
	v := running()
	got := report(v, continuous.Record{Status: v1beta1.LogStatus{Forks: 1}}, errors.New("conflict"))
	if got.Forks != 0 || got.Base == nil {
		t.Errorf("%+v", got)
	}
}

// TestIdleLogIsWrittenRarely: what has only moved on is written twice a minute, anything else at once.
func TestIdleLogIsWrittenRarely(t *testing.T) {
	v := running()
	before := report(v, continuous.Rest{Running: true}, nil)
	v.Status = *before
	for _, c := range []struct {
		after time.Duration
		news  bool
	}{{10 * time.Second, false}, {29 * time.Second, false}, {30 * time.Second, true}} {
		v.Now = noon.Add(c.after)
		v.Job.Progress.Follow.Until, v.Job.Progress.Follow.Revision = v.Now, 121
		after := report(v, continuous.Rest{Running: true}, nil)
		if continuous.IsNews(before, after) != c.news {
			t.Errorf("after %s: %t", c.after, !c.news)
		}
	}
	failing := before.DeepCopy()
	failing.Failures++
	if !continuous.IsNews(before, failing) || !continuous.IsNews(nil, before) || !continuous.IsNews(before, nil) {
		t.Error("what else has changed is not written at once")
	}
}
