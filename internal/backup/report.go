// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// Report is the status after the step, given the error that it ended with. It contains what the step records, and
// nothing that a later one will do.
func Report(v View, generation int64, reason string, step Step, err error) v1beta1.EtcdBackupStatus {
	if s, records := step.(Record); records && err == nil {
		v.Status = s.Status
	}
	s := v.status()
	s.Job = v.jobNow()
	s.ObservedGeneration = generation
	if v.Status.Path == "" {
		s.Cluster, s.Store = v.Cluster.Name, v.Store.Name
	}
	if s.Reason == "" {
		s.Reason = reason
	}
	s.Phase = phase(v)
	s.Progress = progress(v, step, s.Phase)
	stored, proven := complete(v, step, err), verified(v, step, err)
	for _, c := range []metav1.Condition{stored, proven, ready(stored, proven)} {
		c.ObservedGeneration, c.Message = generation, shortened(c.Message)
		meta.SetStatusCondition(&s.Conditions, c)
	}
	return s
}

// jobNow is the Job that the status names after this look: with its UID once it is there, and none once it has ended and is gone.
func (v View) jobNow() *v1beta1.JobReference {
	job := v.Status.Job
	if job == nil || v.Job.Name != job.Name && v.Job.Exists {
		return job
	}
	switch named := *job; {
	case v.isOurs():
		named.UID = v.Job.UID
		return &named
	case named.Ended:
		return nil
	default:
		return job
	}
}

// sourcePort is the near end of a connection in an error of Go's net package: it has another port each time.
var sourcePort = regexp.MustCompile(`\S+:\d+->`)

// shortened keeps a message within the limit of the API conventions, and the same where only the port differs from which
// something was asked: each change of it is a write.
func shortened(message string) string {
	const longest = 1024
	message = sourcePort.ReplaceAllString(message, "")
	return strings.ToValidUTF8(message[:min(len(message), longest)], "")
}

func phase(v View) v1beta1.BackupPhase {
	job := v.Status.Job
	switch {
	case v.Deleting && v.deletes():
		return v1beta1.BackupDeleting
	case v.isGone():
		return v1beta1.BackupFailed
	case v.IsComplete() && v.isTrialWanted():
		return v1beta1.BackupVerifying
	case v.isUnproven() && v.isDamaged():
		return v1beta1.BackupFailed
	case v.isUnproven():
		return v1beta1.BackupPending
	case v.IsComplete():
		return v1beta1.BackupComplete
	case v.isHopeless(Backup):
		return v1beta1.BackupFailed
	case job != nil && !job.Ended && job.Task == Backup:
		return v1beta1.BackupRunning
	default:
		return v1beta1.BackupPending
	}
}

// progress says what is done now; nil where nothing is.
func progress(v View, step Step, phase v1beta1.BackupPhase) *v1beta1.BackupProgress {
	wait, waits := step.(Wait)
	switch {
	case !waits && (KindOf(step).Rests || phase == v1beta1.BackupComplete || phase == v1beta1.BackupFailed):
		return nil
	case !waits:
		return v.Status.Progress // a moment ago, and it is soon another one
	case v.Job.Ended || v.Job.Progress == (jobspec.Progress{}) || v.Status.Job == nil || v.Status.Job.Ended:
		return &v1beta1.BackupProgress{Message: shortened("waiting for " + wait.For)}
	}
	p := v.Job.Progress
	shown := &v1beta1.BackupProgress{Message: shortened(p.Message)}
	if p.Total > 0 {
		shown.Total = v1beta1.SizeOf(p.Total)
		shown.Percent = int32(min(max(0, math.Floor(100*float64(p.Read)/float64(p.Total))), 100))
	}
	if p.Read > 0 {
		shown.Read = v1beta1.SizeOf(p.Read)
	}
	if p.Rate > 0 {
		shown.Rate = v1beta1.SizeOf(p.Rate)
	}
	return shown
}

func complete(v View, step Step, err error) metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1beta1.ConditionComplete, Status: status, Reason: reason, Message: message}
	}
	job := v.Status.Job
	reason, why := waiting(step, Backup)
	switch {
	case v.isGone():
		return is(metav1.ConditionFalse, v1beta1.ReasonContentGone, v.Gone+": it cannot be restored"+untilFound(v))
	case v.isUnproven() && v.isDamaged():
		return is(metav1.ConditionFalse, v.Status.Trial.Reason, v.Status.Trial.Message+"; what is stored is left as it is")
	case v.isUnproven():
		return is(metav1.ConditionFalse, v1beta1.ReasonUnproven, unproven(v))
	case v.IsComplete() && v.isFound():
		return is(metav1.ConditionTrue, v1beta1.ReasonFound, stored(v.Status))
	case v.IsComplete():
		return is(metav1.ConditionTrue, v1beta1.ReasonStored, stored(v.Status))
	case v.isHopeless(Backup):
		return is(metav1.ConditionFalse, v.Status.Failure.Reason, v.Status.Failure.Message+hopeless(v))
	case v.Deleting:
		return is(metav1.ConditionFalse, v1beta1.ReasonDeleting, "the EtcdBackup is being deleted, and was not complete before")
	case err != nil:
		return is(metav1.ConditionFalse, v1beta1.ReasonStepFailed, "trying again: "+err.Error())
	case reason != "":
		return is(metav1.ConditionFalse, reason, why)
	case job != nil && !job.Ended:
		return is(metav1.ConditionFalse, v1beta1.ReasonBackupRunning, running(v, job))
	case v.hasFailed(Backup):
		return is(metav1.ConditionFalse, v1beta1.ReasonRetrying, retrying(v.Status))
	default:
		return is(metav1.ConditionFalse, v1beta1.ReasonBackupRunning, "it is about to begin")
	}
}

// untilFound says that what is gone from a store may come back. A VolumeSnapshot does not.
func untilFound(v View) string {
	if v.isSnapshot() {
		return "; create another EtcdBackup"
	}
	return " until the store has it again"
}

func where(v View) string {
	if v.isSnapshot() {
		return "there"
	}
	return "in the store"
}

func running(v View, job *v1beta1.JobReference) string {
	if v.takes(job.Task) {
		return fmt.Sprintf("VolumeSnapshot %s is taken, attempt %d", job.Name, v.Status.Attempts)
	}
	return fmt.Sprintf("Job %s writes it, attempt %d", job.Name, v.Status.Attempts)
}

// unproven says what is not known of a snapshot that another program made, and what to do.
func unproven(v View) string {
	what := fmt.Sprintf("%s; %s has made it, and what is in it, and whether it is whole, is known once an etcd was started on it",
		stored(v.Status), v.Status.Program)
	switch {
	case v.isTrialWanted():
		return what + ", which is being done"
	case v.hasFailed(Verify):
		return fmt.Sprintf("%s; the last trial proved nothing: %s; another value of the annotation %s asks for another one",
			what, v.Status.Failure.Message, v1beta1.AnnotationVerifyOnce)
	}
	return what + fmt.Sprintf(": kubectl annotate etcdbackups.etcd-operator.dev %s %s=now has that done", v.Name, v1beta1.AnnotationVerifyOnce)
}

// ready says whether the backup is there, and good if that is to be known, in the words of the condition that decides.
func ready(complete, verified metav1.Condition) metav1.Condition {
	decides := complete
	if complete.Status == metav1.ConditionTrue && verified.Reason != v1beta1.ReasonNotWanted {
		decides = verified
	}
	if decides.Status == metav1.ConditionUnknown {
		decides.Status = metav1.ConditionFalse
	}
	decides.Type = v1beta1.ConditionReady
	return decides
}

// hopeless says what becomes of a backup that is not tried again.
func hopeless(v View) string {
	if v.isFound() {
		return ""
	}
	return "; it is not tried again: correct that, and create another EtcdBackup"
}

// waiting is for what a task waits, as reason and message of its condition; empty if it does not.
func waiting(step Step, task string) (reason, message string) {
	s, waits := step.(Wait)
	if !waits || s.Task != task || s.Reason == "" {
		return "", ""
	}
	return s.Reason, "waiting for " + s.For
}

// retrying says what failed, and when it is tried again.
func retrying(s v1beta1.EtcdBackupStatus) string {
	message := fmt.Sprintf("attempt %d failed: %s", s.Attempts, s.Failure.Message)
	if s.RetryAt != nil {
		message += "; the next one begins at " + clock(s.RetryAt.Time)
	}
	return message
}

func verified(v View, step Step, err error) metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1beta1.ConditionVerified, Status: status, Reason: reason, Message: message}
	}
	trial := v.Status.Trial
	switch {
	case v.isGone():
		return is(metav1.ConditionUnknown, v1beta1.ReasonContentGone, "what was verified is no longer "+where(v)+": "+v.Gone)
	case !v.IsComplete():
		return is(metav1.ConditionUnknown, v1beta1.ReasonNotComplete, "there is nothing to verify yet")
	case trial != nil && trial.Reason != "":
		return is(metav1.ConditionFalse, trial.Reason, trial.Message+"; what is stored is left as it is"+later(v))
	case v.Status.Verified != nil:
		return is(metav1.ConditionTrue, v1beta1.ReasonTrialPassed, passed(v))
	}
	return unknown(v, step, err, is)
}

// unknown is the condition while nothing is proven.
func unknown(v View, step Step, err error, is func(metav1.ConditionStatus, string, string) metav1.Condition) metav1.Condition {
	reason, why := waiting(step, Verify)
	const status = metav1.ConditionUnknown
	switch {
	case v.isHopeless(Verify):
		return is(status, v.Status.Failure.Reason, v.Status.Failure.Message)
	case !v.isTrialWanted():
		return is(status, v1beta1.ReasonNotWanted,
			"no verification was requested; the annotation "+v1beta1.AnnotationVerifyOnce+" requests one")
	case err != nil:
		return is(status, v1beta1.ReasonStepFailed, "trying again: "+err.Error())
	case reason != "":
		return is(status, reason, why)
	case v.hasFailed(Verify):
		return is(status, v1beta1.ReasonRetrying, retrying(v.Status))
	default:
		return is(status, v1beta1.ReasonVerificationPending, "the backup is restored on trial into an etcd of its version")
	}
}

// passed says when the last trial was that the backup passed.
func passed(v View) string {
	s := v.Status
	what := fmt.Sprintf("an etcd has served %s at %s, after %s", revision(s), clock(s.Verified.At.Time), s.Verified.Took.Duration)
	if s.NoHash {
		what += withoutHash
	}
	return what + later(v)
}

// later says what became of a trial after the last that proved something.
func later(v View) string {
	switch {
	case v.hasFailed(Verify):
		return "; a later trial proved nothing: " + v.Status.Failure.Message
	case v.isTrialWanted():
		return "; another trial is on its way"
	default:
		return ""
	}
}
