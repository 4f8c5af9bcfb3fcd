package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// unreadFor is for how long the lines of a Job that has ended are waited for. Its node may be silent for a while; if it
// never comes back, Kubernetes deletes the Pod, and with it the lines.
const unreadFor = 10 * time.Minute

// maxJobName is what a Job's Pods can have as the value of a label.
const maxJobName = 63

// JobName is the name of the Job with that number. No two Jobs of any EtcdBackup have the same.
func JobName(name, uid, task string, number int64) string {
	sum := sha256.Sum256([]byte(name + "/" + uid))
	suffix := fmt.Sprintf("-%s-%s-%d", hex.EncodeToString(sum[:4]), strings.ToLower(task), number)
	begin := strings.ReplaceAll(name, ".", "-")
	return begin[:min(len(begin), maxJobName-len(suffix))] + suffix
}

// endOvertaken takes the way of deletion: what runs would only hold it up.
func endOvertaken(v View) Step {
	job := v.Status.Job
	if !v.Deleting || job == nil || job.Task == Delete && v.deletes() {
		return nil
	}
	if !v.isOurs() {
		return Record{Status: v.unnamed(), What: "no job runs any more"}
	}
	return v.deleteJob("the EtcdBackup is being deleted")
}

// createJob creates what the status names. While the name is there, nothing else is begun.
func createJob(v View) Step {
	job := v.Status.Job
	if job == nil || job.Ended || job.UID != "" || v.Job.Exists {
		return nil
	}
	if reason, why := obstacle(v, job.Task); reason != "" {
		return Record{Status: v.withdrawn(), What: fmt.Sprintf("job %s is not created: waiting for %s", job.Name, why)}
	}
	return CreateJob{Name: job.Name, Task: job.Task}
}

func knowJob(v View) Step {
	if v.Status.Job == nil || v.Status.Job.UID != "" || !v.isOurs() {
		return nil
	}
	s := v.status()
	s.Job.UID = v.Job.UID
	return Record{Status: s, What: fmt.Sprintf("job %s is there", s.Job.Name)}
}

// countLost is about Jobs that somebody has deleted, that Kubernetes has cleaned up, or in whose place there is another.
func countLost(v View) Step {
	job := v.Status.Job
	if job == nil || job.Ended || v.isOurs() {
		return nil
	}
	s := v.failed(ended(fmt.Sprintf("Job %s is gone, and did not say how it ended; it was deleted, or its node was lost", job.Name)))
	s.Job = nil
	return failure(s)
}

func awaitJob(v View) Step {
	job := v.Status.Job
	if job == nil || job.Ended {
		return nil
	}
	switch {
	case v.Job.Deleting && !v.Job.Ended:
		return Wait{Task: job.Task, For: fmt.Sprintf("job %s to go", job.Name)}
	case !v.Job.Ended && v.Job.Trouble != "":
		return Wait{Task: job.Task, For: fmt.Sprintf("job %s to run: %s", job.Name, v.Job.Trouble), Soon: true}
	case !v.Job.Ended:
		return Wait{Task: job.Task, For: fmt.Sprintf("job %s", job.Name), Soon: true}
	case v.Job.Unread != "" && v.Now.Before(v.Job.EndedAt.Add(unreadFor)):
		return Wait{Task: job.Task, For: fmt.Sprintf("the log of job %s: %s", job.Name, v.Job.Unread), Soon: true}
	default:
		return nil
	}
}

// recordResult writes down what the Job said. Only then the Job may go.
func recordResult(v View) Step {
	job := v.Status.Job
	if job == nil || job.Ended {
		return nil
	}
	done := v.Job.Done
	switch {
	case v.Job.Failed != nil:
		return v.recordFailure(*v.Job.Failed)
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

// deleteJob deletes the Job, or waits while it goes.
func (v View) deleteJob(because string) Step {
	if v.Job.Deleting {
		return Wait{Task: v.Status.Job.Task, For: fmt.Sprintf("job %s to go", v.Status.Job.Name)}
	}
	return DeleteJob{Name: v.Status.Job.Name, UID: v.Job.UID, Because: because}
}

func forgetJob(v View) Step {
	if v.Status.Job == nil {
		return nil
	}
	return Record{Status: v.unnamed(), What: fmt.Sprintf("job %s is gone", v.Status.Job.Name)}
}
