// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/schedule"
)

// Due is when a drill with a schedule is carried out next; zero without one, or if it never is.
type Due struct {
	At      time.Time
	Problem string // why the schedule cannot be read; empty if it can
}

// dueOf is the first time after the end of the last run, or after the drill was created. One that is missed by so much that the drill would
// have been given up is left out.
func dueOf(d *v1beta1.EtcdDrill, now time.Time) Due {
	if d.Spec.Schedule == "" {
		return Due{}
	}
	times, err := schedule.Parse(d.Spec.Schedule, d.Spec.TimeZone)
	if err != nil {
		return Due{Problem: err.Error()}
	}
	after := d.CreationTimestamp.Time
	switch s := d.Status; {
	case s.EndedAt != nil:
		after = s.EndedAt.Time
	case len(s.History) > 0:
		after = s.History[0].EndedAt.Time
	}
	if oldest := now.Add(-waitsFor); after.Before(oldest) {
		after = oldest
	}
	return Due{At: times.Next(after)}
}

// awaitTime is asked before anything is waited for or refused.
func awaitTime(v View) Step {
	s := v.status()
	switch {
	case v.Spec.Schedule == "" || s.ScheduledFor != nil:
		return nil
	case v.notAgain() != nil:
		return v.notAgain()
	}
	s.ScheduledFor = new(metav1.NewTime(v.Due.At))
	return Record{Status: s, What: "the run of " + text(v.Due.At) + " begins"}
}

// again keeps the result of the last run in the history.
func again(v View) Step {
	s := v.Status
	if s.EndedAt == nil || v.Spec.Schedule == "" || v.notAgain() != nil {
		return nil
	}
	last := v1beta1.DrillResult{
		EndedAt: *s.EndedAt, Phase: s.Phase, Report: s.Report, RecoveredIn: s.RecoveredIn, LongestGap: s.LongestGap, FailedWrites: s.FailedWrites,
	}
	history := append([]v1beta1.DrillResult{last}, s.History...)
	limit := int(ptr.Deref(v.Spec.HistoryLimit, v1beta1.DefaultDrillHistory))
	fresh := v1beta1.EtcdDrillStatus{
		ObservedGeneration: s.ObservedGeneration, Conditions: s.Conditions, Phase: v1beta1.DrillPending, Jobs: s.Jobs,
		ScheduledFor: new(metav1.NewTime(v.Due.At)), History: history[:min(len(history), limit)],
	}
	return Record{Status: *fresh.DeepCopy(), What: "the run of " + text(v.Due.At) + " begins, after one that ended as " + string(s.Phase)}
}

// notAgain says what a drill with a schedule waits for before it begins; nil if its time has come.
func (v View) notAgain() Step {
	const never = 24 * time.Hour
	switch {
	case v.Due.Problem != "":
		return Wait{Reason: v1beta1.ReasonScheduleUnreadable, For: "a schedule that can be read: " + v.Due.Problem, Until: v.Now.Add(never)}
	case v.Spec.Suspend:
		return Wait{Reason: v1beta1.ReasonScheduled, For: "spec.suspend to be false", Until: v.Now.Add(never)}
	case v.Due.At.IsZero():
		return Wait{Reason: v1beta1.ReasonScheduleUnreadable, For: "a schedule that has a time: this one is no day of any " +
			"year", Until: v.Now.Add(never)}
	case v.Now.Before(v.Due.At):
		return Wait{Reason: v1beta1.ReasonScheduled, For: "its time, " + text(v.Due.At), Until: v.Due.At}
	}
	return nil
}

func text(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// nextAt is when the drill is carried out next, by its schedule.
func nextAt(v View) *metav1.Time {
	if v.Due.At.IsZero() || v.Spec.Suspend || v.Status.EndedAt == nil && v.Status.ScheduledFor != nil {
		return nil
	}
	return new(metav1.NewTime(v.Due.At))
}

// asked is since when the drill is to be carried out.
func (v View) asked() time.Time {
	if v.Status.ScheduledFor != nil {
		return v.Status.ScheduledFor.Time
	}
	return v.Created
}
