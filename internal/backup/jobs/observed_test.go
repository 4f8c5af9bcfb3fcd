// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

var (
	now    = time.Date(2026, 11, 27, 2, 0, 0, 0, time.UTC)
	policy = jobs.Policy{Unread: time.Minute, First: 10 * time.Second, Last: 50 * time.Second}
)

// TestObserve: whose a Job is, what it was created for, and what its last lines say.
func TestObserve(t *testing.T) {
	owner := &metav1.ObjectMeta{UID: "b-uid"}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: "j", UID: "j-uid", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
		OwnerReferences: []metav1.OwnerReference{{UID: "b-uid", Controller: ptr.To(true)}},
	}}
	said := jobs.Output{Ended: true, EndedAt: now, Trouble: "evicted", Lines: []jobspec.Line{
		{Found: &jobspec.Found{Path: "p"}}, {Failed: &jobspec.Failed{Reason: jobspec.MemberFailed}},
	}}
	got := jobs.Observe(jobs.MadeFor(job, "generation 3"), owner, said)
	if !got.Exists || !got.Owned || got.Name != "j" || got.UID != "j-uid" || got.For != "generation 3" || got.Deleting ||
		!got.Created.Equal(got.Begun) || got.Trouble != "evicted" || got.Failed() == nil || got.Done() != nil {
		t.Errorf("%+v", got)
	}
	job.Status.StartTime = ptr.To(metav1.NewTime(now))
	if got := jobs.Observe(job, owner, said); !got.Begun.Equal(now) {
		t.Errorf("it began at %s", got.Begun)
	}
	job.Annotations = map[string]string{"etcd-operator.dev/volume-uid": "of 0.7"}
	if got := jobs.Observe(job, owner, said); got.For != "of 0.7" {
		t.Errorf("a Job that an earlier version has created is for %q", got.For)
	}
	if jobs.Observe(job, &metav1.ObjectMeta{UID: "earlier"}, said).Owned {
		t.Error("a Job of an earlier object of that name is taken for ours")
	}
	if got := jobs.Observe(nil, owner, jobs.Output{}); got.Exists {
		t.Errorf("%+v", got)
	}
}

// TestState goes through the life of a Job.
func TestState(t *testing.T) {
	there := jobs.Observed{Exists: true, Owned: true}
	with := func(change func(*jobs.Observed)) jobs.Observed {
		o := there
		change(&o)
		return o
	}
	unread := func(ago time.Duration) func(*jobs.Observed) {
		return func(o *jobs.Observed) { o.Ended, o.EndedAt, o.Unread = true, now.Add(-ago), "its node does not answer" }
	}
	for what, test := range map[string]struct {
		job  jobs.Observed
		want jobs.State
	}{
		"none":                              {jobs.Observed{}, jobs.Missing},
		"another's":                         {jobs.Observed{Exists: true}, jobs.Foreign},
		"it runs":                           {there, jobs.Running},
		"deleted while it runs":             {with(func(o *jobs.Observed) { o.Deleting = true }), jobs.Leaving},
		"ended":                             {with(func(o *jobs.Observed) { o.Ended = true }), jobs.Ended},
		"deleted when it has ended":         {with(func(o *jobs.Observed) { o.Ended, o.Deleting = true, true }), jobs.Ended},
		"ended, its log cannot be read":     {with(unread(time.Minute - 1)), jobs.Unread},
		"ended, its log will never be read": {with(unread(time.Minute)), jobs.Ended},
		"another's, and ended":              {jobs.Observed{Exists: true, Output: jobs.Output{Ended: true}}, jobs.Foreign},
		"its log cannot be read as it runs": {with(func(o *jobs.Observed) { o.Unread = "its node does not answer" }), jobs.Running},
		"deleted, and its log cannot be read": {with(func(o *jobs.Observed) {
			unread(0)(o)
			o.Deleting = true
		}), jobs.Unread},
	} {
		if got := test.job.State(policy, now); got != test.want {
			t.Errorf("%s: %d, want %d", what, got, test.want)
		}
	}
}

// TestPause: twice as long after each failure, and then no longer.
func TestPause(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: 10, 2: 20, 3: 40, 4: 50, 1 << 30: 50} {
		if got := policy.Pause(failures); got != want*time.Second {
			t.Errorf("after %d failures %s", failures, got)
		}
	}
	if got := (jobs.Policy{First: time.Minute, Last: time.Minute}).Pause(9); got != time.Minute {
		t.Errorf("a pause that does not grow is %s", got)
	}
}
