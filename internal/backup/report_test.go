// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// TestSizesForPeople: rounded up to what a column can show.
func TestSizesForPeople(t *testing.T) {
	for bytes, want := range map[int64]string{
		1: "1Ki", 1024: "1Ki", 1025: "2Ki", 10 << 20: "10Mi", 10<<20 + 1: "11Mi", 300<<20 + 5: "301Mi", 10 << 30: "10Gi", 10<<30 + 1: "11Gi",
	} {
		if got := backup.Size(bytes); got != want {
			t.Errorf("%d bytes are %s, want %s", bytes, got, want)
		}
	}
}

// whileRunning is a backup whose Job runs.
func whileRunning() *world {
	w := newWorld()
	for range 3 {
		step, _ := backup.Next(w.view())
		w.obey(step)
	}
	return w
}

// TestProgress: of what the Job last said; without it, of what is waited for.
func TestProgress(t *testing.T) {
	w := whileRunning()
	for _, test := range []struct {
		said          jobspec.Progress
		trouble       string
		read, percent string
	}{
		{jobspec.Progress{}, "no node has room", "", "waiting for job"},
		{jobspec.Progress{Read: 1 << 20, Message: "uploading"}, "", "1Mi", "uploading"},
		{jobspec.Progress{Read: 30 << 20, Total: 20 << 20, Message: "uploading"}, "", "30Mi", "uploading"}, // the database has grown
	} {
		v := w.view()
		v.Job.Progress, v.Job.Trouble = test.said, test.trouble
		step, _ := backup.Next(v)
		p := backup.Report(v, 1, "", step, nil).Progress
		if !strings.HasPrefix(p.Message, test.percent) || !strings.Contains(p.Message, test.trouble) || p.Percent > 100 || p.Percent < 0 {
			t.Errorf("%+v: %+v", test, p)
		}
		if p.Read == nil && test.read != "" || p.Read != nil && p.Read.String() != test.read {
			t.Errorf("%+v: %+v", test, p)
		}
	}
}

// TestFailedActIsTold: in the condition that it is about, and it changes nothing else.
func TestFailedActIsTold(t *testing.T) {
	w := newWorld()
	v := w.view()
	step, _ := backup.Next(v)
	s := backup.Report(v, 1, "", step, errors.New("exceeded quota"))
	c := meta.FindStatusCondition(s.Conditions, v1beta1.ConditionComplete)
	if c.Reason != v1beta1.ReasonStepFailed || !strings.Contains(c.Message, "exceeded quota") || s.Job != nil {
		t.Errorf("condition %+v, job %+v", c, s.Job)
	}
	if events := backup.Events(v.Status, s, step, errors.New("exceeded quota")); len(events) > 0 {
		t.Errorf("events %v", events)
	}
}

// TestIdleBackupIsNotWritten: however often it is looked at, and whatever time it is.
func TestIdleBackupIsNotWritten(t *testing.T) {
	for _, prepare := range []func(*world){
		func(w *world) { w.v.Store.Ready, w.v.Store.Why = false, "down" },
		func(w *world) { w.v.Cluster.Hibernated = true },
		func(w *world) { w.v.Spec.Cluster, w.v.Spec.Found, w.v.Listed = "", "v1/old/a/u", listed("") },
	} {
		w := newWorld()
		prepare(w)
		for range 3 {
			step, _ := backup.Next(w.view())
			w.obey(step)
		}
		before := w.v.Status
		for range 10 {
			w.pass(time.Minute)
			step, _ := backup.Next(w.view())
			if w.obey(step); !reflect.DeepEqual(w.v.Status, before) {
				t.Fatalf("%s writes\n%+v\nover\n%+v", step, w.v.Status, before)
			}
		}
	}
}

// TestPauses: longer and longer, and then no longer.
func TestPauses(t *testing.T) {
	w := newWorld()
	want := []time.Duration{30, 60, 120, 240, 480, 600, 600}
	for i, seconds := range want {
		for range 3 {
			step, _ := backup.Next(w.view())
			w.obey(step)
		}
		w.finish(0, fails)
		for range 3 {
			step, _ := backup.Next(w.view())
			w.obey(step)
		}
		if got := w.v.Status.RetryAt.Sub(w.v.Now); got != seconds*time.Second {
			t.Errorf("the pause after attempt %d is %s", i+1, got)
		}
		w.v.Now = w.v.Status.RetryAt.Time
	}
}

// TestLinesThatCannotBeRead: they are waited for, and not for ever.
func TestLinesThatCannotBeRead(t *testing.T) {
	w := whileRunning()
	v := w.view()
	v.Job.Ended, v.Job.EndedAt, v.Job.Unread = true, start, "the node does not answer"
	if step, because := backup.Next(v); because != "wait for the job" || !strings.Contains(step.String(), "the node does not answer") {
		t.Errorf("%s (%s)", step, because)
	}
	v.Now = start.Add(10 * time.Minute)
	step, _ := backup.Next(v)
	if r, records := step.(backup.Record); !records || r.Status.Failure == nil ||
		!strings.Contains(r.Status.Failure.Message, "does not answer") {
		t.Errorf("%s", step)
	}
}

// TestAnswerOfAnotherTask: a Job that says something else than its task's result has not done it.
func TestAnswerOfAnotherTask(t *testing.T) {
	w := whileRunning()
	v := w.view()
	v.Job.Ended, v.Job.Lines = true, []jobspec.Line{{Done: &jobspec.Done{Trial: &jobspec.Trial{}}}}
	step, _ := backup.Next(v)
	if r, records := step.(backup.Record); !records || r.Status.Failure == nil || r.Status.Verified != nil || r.Status.ManifestSHA256 != "" {
		t.Errorf("%s", step)
	}
}
