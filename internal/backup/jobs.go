// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
)

// patience is how long Jobs are waited for. A node may be silent for a while; if it never comes back, Kubernetes deletes the Pod, and with
// it what the Job said.
var patience = jobs.Policy{Unread: 10 * time.Minute, First: 30 * time.Second, Last: 10 * time.Minute}

// maxJobName is what a Job's Pods can have as the value of a label.
const maxJobName = 63

// JobName is the name of the Job, or VolumeSnapshot, with that number. No two of any EtcdBackup have the same.
func JobName(name, uid, task string, number int64) string {
	suffix := fmt.Sprintf("%s%d", jobMark(name, uid, task), number)
	begin := strings.ReplaceAll(name, ".", "-")
	return begin[:min(len(begin), maxJobName-len(suffix))] + suffix
}

// jobMark is in the names of all Jobs of an EtcdBackup with that task, and of no other.
func jobMark(name, uid, task string) string {
	sum := sha256.Sum256([]byte(name + "/" + uid))
	return fmt.Sprintf("-%s-%s-", hex.EncodeToString(sum[:4]), strings.ToLower(task))
}

// endOvertaken takes the way of deletion: what runs would only hold it up.
func endOvertaken(v View) Step {
	job := v.Status.Job
	switch {
	case !v.Deleting || job == nil || job.Task == Delete && v.deletes():
		return nil
	case v.isOurs():
		return v.deleteJob("the EtcdBackup is being deleted")
	case !job.Ended:
		return Record{Status: v.unnamed(), What: "no job runs any more"}
	default:
		return nil
	}
}

// createJob creates what the status names. While the name is there, nothing else is begun.
func createJob(v View) Step {
	job := v.Status.Job
	if job == nil || job.Ended || job.UID != "" || v.Job.Exists {
		return nil
	}
	if reason, why := obstacle(v, job.Task); reason != "" {
		return Record{Status: v.withdrawn(), What: fmt.Sprintf("%s %s is not created: waiting for %s", v.work(job.Task), job.Name, why)}
	}
	if v.takes(job.Task) {
		return CreateSnapshot{Name: job.Name, Source: v.Source}
	}
	return CreateJob{Name: job.Name, Task: job.Task}
}

// countLost counts Jobs that were deleted, that Kubernetes has cleaned up, or in whose place there is another.
func countLost(v View) Step {
	job := v.Status.Job
	if job == nil || job.Ended || v.isOurs() {
		return nil
	}
	lost := fmt.Sprintf("Job %s is gone, and did not say how it ended; it was deleted, or its node was lost", job.Name)
	if v.takes(job.Task) {
		lost = fmt.Sprintf("VolumeSnapshot %s was deleted before it was ready", job.Name)
	}
	s := v.failed(ended(lost))
	s.Job = nil
	return failure(s)
}

func awaitJob(v View) Step {
	job := v.Status.Job
	if job == nil || job.Ended {
		return nil
	}
	what := fmt.Sprintf("job %s", job.Name)
	isSnapshot := v.takes(job.Task)
	switch v.Job.State(patience, v.Now) {
	case jobs.Leaving:
		return Wait{Task: job.Task, For: what + " to be deleted", Soon: isSnapshot}
	case jobs.Running:
		if isSnapshot {
			return v.awaitSnapshot(job.Name)
		}
		if v.Job.Trouble != "" {
			what += " to run: " + v.Job.Trouble
		}
		return Wait{Task: job.Task, For: what, Soon: true}
	case jobs.Unread:
		return Wait{Task: job.Task, For: fmt.Sprintf("the log of %s: %s", what, v.Job.Unread), Soon: true}
	case jobs.Missing, jobs.Foreign, jobs.Ended:
	}
	return nil
}

// recordResult writes down what the Job said. Only then the Job may be deleted.
func recordResult(v View) Step {
	job := v.Status.Job
	if job == nil || job.Ended {
		return nil
	}
	done, failed := v.Job.Done(), v.Job.Failed()
	switch {
	case failed != nil:
		return v.recordFailure(*failed)
	case job.Task == Backup && done != nil && done.Backup != nil:
		return v.recordBackup(*done)
	case job.Task == Verify && done != nil && done.Trial != nil:
		return v.recordTrial(*done.Trial)
	case job.Task == Delete && done != nil && done.Left != "":
		return RemoveFinalizer{Because: done.Left, Event: "BackupOrphaned", Warns: true}
	case job.Task == Delete && done != nil:
		return RemoveFinalizer{Because: "the store has deleted " + v.Status.Path, Event: "BackupDeleted"}
	default:
		return v.recordFailure(ended(v.lastWords()))
	}
}

// lastWords are what is known of a Job that ended without a last line.
func (v View) lastWords() string {
	why := v.Job.Trouble
	if why == "" {
		why = v.Job.Unread
	}
	if why == "" {
		why = "Kubernetes does not say why"
	}
	return fmt.Sprintf("Job %s ended without a result: %s", v.Status.Job.Name, why)
}

func deleteEnded(v View) Step {
	if v.Status.Job == nil || !v.isOurs() {
		return nil
	}
	return v.deleteJob("its result is written down")
}

// deleteJob deletes the Job, or waits while it is being deleted.
func (v View) deleteJob(because string) Step {
	if v.takes(v.Status.Job.Task) {
		return v.dropSnapshot(because)
	}
	if v.Job.Deleting {
		return Wait{Task: v.Status.Job.Task, For: fmt.Sprintf("job %s to be deleted", v.Status.Job.Name)}
	}
	return DeleteJob{Name: v.Status.Job.Name, UID: v.Job.UID, Because: because}
}
