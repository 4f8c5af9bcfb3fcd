// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// LookEvery is how often the progress of a Job is read: no watch reports it. What has only moved on is written to the status each
// writeEvery.
const (
	LookEvery  = 10 * time.Second
	writeEvery = 30 * time.Second
	// hesitation is how long the log may stand still, with a reason, before that is said: a member that restarts is no news. It is more than
	// writeEvery and LookEvery together.
	hesitation = 45 * time.Second
	// patience is how long it may stand still without a reason, beside the time to flush.
	patience = 2 * time.Minute
)

// Report is status.log of the EtcdCluster after the step, given the error that it ended with; nil where nothing is said of a log.
func Report(seen Seen, v View, step Step, err error) *v1beta1.LogStatus {
	s := v.Status.DeepCopy()
	if r, records := step.(Record); records && err == nil {
		s = r.Status.DeepCopy()
	}
	v.Status = *s
	if _, rests := step.(Rest); !v.Wanted && rests && err == nil {
		return leftOf(*s)
	}
	v.advance(s)
	v.window(s)
	now := v.current(*s, step, err)
	if now.Type = v1beta1.ConditionLogCurrent; now.Status == "" {
		return s
	}
	now.ObservedGeneration = seen.Cluster.Generation
	now.Message = limited(now.Message)
	meta.SetStatusCondition(&s.Conditions, now)
	return s
}

// longest is what the API server takes as the note of an event, in bytes, and the limit of the API conventions for a message.
const longest = 1024

func limited(text string) string { return strings.ToValidUTF8(text[:min(len(text), longest)], "") }

// Note is what an event says of a step.
func Note(s Record) string { return limited(s.What) }

// leftOf is what is remembered of a log that is no longer wanted: names that no other log may have.
func leftOf(s v1beta1.LogStatus) *v1beta1.LogStatus {
	if s.Forks == 0 && s.FullBackups == 0 {
		return nil
	}
	return &v1beta1.LogStatus{Forks: s.Forks, FullBackups: s.FullBackups}
}

// IsLeft says whether the status has nothing but what is remembered of a log that was wanted once.
func IsLeft(s *v1beta1.LogStatus) bool { return s == nil || equality.Semantic.DeepEqual(s, leftOf(*s)) }

// advance is how far the Job is that keeps the log now. Before it has begun after its base, a Job may say how far the log was before.
func (v View) advance(s *v1beta1.LogStatus) {
	said := v.Job.Progress.Follow
	if said == nil || said.Until.IsZero() || s.Base == nil || said.Revision < s.Base.Revision || !v.isOfLineage() {
		return
	}
	to := v1beta1.LogPoint{Time: *at(said.Until), Revision: said.Revision}
	if s.Until != nil && (s.Until.Revision > to.Revision || s.Until.Revision == to.Revision && !s.Until.Time.Before(&to.Time)) {
		return
	}
	s.Until, s.MovedAt = &to, at(v.Now)
	s.Failures, s.Failure = 0, ""
	if s.FullBackup == "" {
		s.RetryAt = nil
	}
}

// window is from when on the cluster can be restored to any moment.
func (v View) window(s *v1beta1.LogStatus) {
	if s.Base == nil {
		return // interrupted: what was before can be restored as ever
	}
	s.From = nil
	if run := v.run(); s.Until != nil && len(run) > 0 && run[0].Revision <= s.Until.Revision {
		from := point(run[0])
		s.From = &from
	}
}

// current is the condition LogCurrent after the step; without a status if it is as it was.
func (v View) current(s v1beta1.LogStatus, step Step, err error) metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	rest, rests := step.(Rest)
	switch {
	case err != nil:
		return is(metav1.ConditionFalse, v1beta1.ReasonStepFailed, "trying again: %v", err)
	case !rests && len(s.Conditions) > 0:
		return metav1.Condition{}
	case !rests:
		return is(metav1.ConditionUnknown, v1beta1.ReasonLogStarting, "the log is about to begin")
	case rest.Reason != "":
		return is(metav1.ConditionFalse, rest.Reason, "%s", rest.Because)
	}
	still := v.still(s)
	said := v.Job.Progress.Follow
	switch {
	case said == nil && v.Job.Trouble != "":
		return is(metav1.ConditionFalse, v1beta1.ReasonLogNotRunning, "the Pod of Job %s does not run: %s", v.Job.Name, v.Job.Trouble)
	case said != nil && said.Problem != "" && still >= hesitation:
		return is(metav1.ConditionFalse, v1beta1.ReasonLogBehind, "the log does not get on, and goes on by itself: %s", said.Problem)
	case still >= patience+2*v.Flush:
		why := "Job %s does not say why; look at the log of its Pod"
		if v.Job.Unread != "" {
			why = "what Job %s says cannot be read: " + strings.ReplaceAll(v.Job.Unread, "%", "%%")
		}
		return is(metav1.ConditionFalse, v1beta1.ReasonLogBehind, "the log has not moved for a while: "+why, v.Job.Name)
	case s.Until == nil || said == nil:
		return is(metav1.ConditionUnknown, v1beta1.ReasonLogStarting, "Job %s has not said yet how far the log is", v.Job.Name)
	}
	return is(metav1.ConditionTrue, v1beta1.ReasonLogCurrent, "each change is written to the store within %s%s", v.Flush, gaps(s))
}

// still is for how long the log has not moved.
func (v View) still(s v1beta1.LogStatus) time.Duration {
	since := v.Job.Begun
	if s.MovedAt != nil && s.MovedAt.After(since) {
		since = s.MovedAt.Time
	}
	if !v.Job.Exists || since.IsZero() {
		return 0
	}
	return v.Now.Sub(since)
}

// gaps says what is missing before the window.
func gaps(s v1beta1.LogStatus) string {
	if len(s.Gaps) == 0 || s.Gaps[0].Before == nil {
		return ""
	}
	last := s.Gaps[0]
	return fmt.Sprintf("; no log has what was changed after revision %d and before EtcdBackup %s, at revision %d: %s",
		last.After.Revision, last.Before.Name, last.Before.Revision, last.Because)
}

// IsNews says whether a status is worth a write: what has only moved on is written each writeEvery.
func IsNews(before, after *v1beta1.LogStatus) bool {
	if before == nil || after == nil || before.Until == nil || after.Until == nil || before.MovedAt == nil || after.MovedAt == nil {
		return !equality.Semantic.DeepEqual(before, after)
	}
	same := after.DeepCopy()
	same.Until, same.MovedAt = before.Until, before.MovedAt
	return !equality.Semantic.DeepEqual(before, same) || after.MovedAt.Sub(before.MovedAt.Time).Abs() >= writeEvery
}
