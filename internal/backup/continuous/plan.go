// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

var rule = rules.New[View, Step]

// The rules are asked in order, and the first to decide wins. Their order is the policy: stop what may not run, write down how a Job has
// ended before anything else, know which history is logged, and have a full backup before a log begins after it.
var policy = rules.Of(
	rule("leave foreign jobs alone", leaveForeign, "starts nothing while a Job of another object has the name"),
	rule("stop the job", stop, "deletes the Job where no log is wanted, or none may be kept now"),
	rule("need a log", needLog, "keeps no log of a cluster without spec.backup.continuous"),
	rule("wait for the cluster", awaitCluster,
		"keeps no log before the cluster has formed, while it is paused, hibernates, is recovered or deleted, or of an etcd that is too old"),

	rule("record the end", recordEnd, "writes down how the Job has ended, and whether there is a gap, before anything else happens"),
	rule("delete the ended job", deleteEnded, "deletes a Job whose end is written down"),
	rule("begin a lineage", beginLineage, "begins another log, with a full backup of its own, after a restore, a recovery or a fork"),
	rule("restart", restart, "ends a Job that was started for other members, settings, certificates or keys, or by another operator"),

	rule("replace a lost pod", replaceLost,
		"deletes a Job whose Pod should have ended a minute ago: its node does not answer, and Kubernetes would wait for that for ever"),

	rule("choose the base", chooseBase, "has the log begin after the newest full backup of the lineage that was requested since the last gap"),
	rule("record the full backup", recordFull, "writes down that the full backup is complete, or has failed"),
	rule("wait for the store", awaitStore, "makes no full backup and starts no Job while the store is missing or not ready"),
	rule("wait for another try", awaitRetry, "waits longer after each failure in a row"),
	rule("request a full backup", requestFull, "names a full backup where there is none that the log leads on from"),
	rule("create the full backup", createFull, "creates the EtcdBackup that the status names"),
	rule("wait for the full backup", awaitFull, "begins no log without a full backup"),

	rule("wait for the job", awaitJob, "lets the Job keep the log"),
	rule("start the job", start, "creates the Job that keeps the log"),
)

// Next is the one step to take now, and the name of the rule that chose it. The last rule always decides.
func Next(v View) (Step, string) { return policy.Next(v) }

func leaveForeign(v View) Step {
	if !v.Wanted || v.state() != jobs.Foreign {
		return nil
	}
	return Rest{
		Reason: v1beta1.ReasonJobForeign, Running: true, // no watch of ours reports that it goes
		Because: fmt.Sprintf("the log is not kept: another object has Job %s; delete it", v.Job.Name),
	}
}

func stop(v View) Step {
	if v.Wanted && v.Hold == (Obstacle{}) || !v.Job.Owned {
		return nil
	}
	because := v.Hold.Message
	if !v.Wanted {
		because = "spec.backup.continuous is not given any more"
	}
	if v.Job.Deleting {
		return Rest{Reason: v.Hold.Reason, Because: because, Running: true}
	}
	return v.deleteJob(because)
}

func (v View) deleteJob(because string) Step {
	return DeleteJob{Name: v.Job.Name, UID: v.Job.UID, Because: because}
}

func needLog(v View) Step {
	if v.Wanted {
		return nil
	}
	return Rest{}
}

func awaitCluster(v View) Step {
	if v.Hold == (Obstacle{}) {
		return nil
	}
	return Rest{Reason: v.Hold.Reason, Because: v.Hold.Message}
}

func deleteEnded(v View) Step {
	if v.state() != jobs.Ended {
		return nil
	}
	if v.Job.Deleting {
		return Rest{Running: true}
	}
	return v.deleteJob("its end is written down")
}

func restart(v View) Step {
	if v.state() != jobs.Running || v.For == "" || v.Job.For == v.For {
		return nil
	}
	return v.deleteJob("its members, settings, certificates or keys, or the operator have changed; the next one goes on where it ends")
}

// overdue is for how long a Pod may still be there after its time to end: a kubelet that is busy has not lost it.
const overdue = time.Minute

// replaceLost may have two processes write at once, if that node is only cut off: the store takes each segment from one of them.
func replaceLost(v View) Step {
	due := v.Job.Due
	if v.state() != jobs.Running || due.IsZero() || v.Now.Before(due.Add(overdue)) {
		return nil
	}
	return v.deleteJob(fmt.Sprintf("its Pod was to end by %s, and its node does not answer; the next one goes on where the log ends",
		due.UTC().Format(time.RFC3339)))
}

func awaitStore(v View) Step {
	if v.Obstacle == (Obstacle{}) || !v.needsFull() && v.Job.Exists {
		return nil
	}
	return Rest{Reason: v.Obstacle.Reason, Because: v.Obstacle.Message, Running: v.Job.Exists}
}

func awaitRetry(v View) Step {
	at := v.Status.RetryAt
	if at == nil || !v.Now.Before(at.Time) || !v.needsFull() && v.Job.Exists {
		return nil
	}
	reason := v1beta1.ReasonLogRetrying
	if isInterrupted(v.Status) {
		reason = v1beta1.ReasonLogInterrupted
	}
	return Rest{
		Reason: reason, Until: at.Time, Running: v.Job.Exists,
		Because: fmt.Sprintf("%s; the next try is at %s", v.Status.Failure, at.UTC().Format(time.RFC3339)),
	}
}

func awaitFull(v View) Step {
	if v.Status.Base != nil {
		return nil
	}
	because := fmt.Sprintf("EtcdBackup %s is being made; the log begins after it", v.Status.FullBackup)
	if !isInterrupted(v.Status) {
		return Rest{Reason: v1beta1.ReasonFullBackupPending, Because: because, Running: v.Job.Exists}
	}
	gap := v.Status.Gaps[0]
	return Rest{
		Reason: v1beta1.ReasonLogInterrupted, Running: v.Job.Exists,
		Because: fmt.Sprintf("no log has what came after revision %d: %s; %s", gap.After.Revision, gap.Because, because),
	}
}

func awaitJob(v View) Step {
	if !v.Job.Exists {
		return nil
	}
	return Rest{Running: true}
}

func start(v View) Step { return CreateJob{Name: jobs.FollowName(v.Cluster)} }

// at is a time as the status has it: in whole seconds.
func at(t time.Time) *metav1.Time { return &metav1.Time{Time: t.UTC().Truncate(time.Second)} }

// after is the next whole second: objects say in whole seconds when they were created.
func after(t time.Time) *metav1.Time { return at(t.Add(time.Second)) }
