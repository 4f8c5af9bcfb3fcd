// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// errand is a Job whose answer a rule waits for, in the words of its messages.
type errand struct {
	job   string // such as "the job that looks for the target in the log"
	other string // what it does if it was created for something else
	fails string // what does not succeed
	again string // why it is deleted after an attempt that has failed
	// answers says whether the Job has an answer.
	answers func(*jobspec.Done) bool
}

// locating is the Job that looks for a target.
var locating = errand{
	job: "the job that looks for the target in the log", other: "it looks for another target", fails: "the target cannot be restored",
	again:   "it has not found the target, and another one looks again",
	answers: func(d *jobspec.Done) bool { return d.Located != nil },
}

// How long after an attempt that has failed there is another one: the log grows, and full backups are made.
const (
	tryAgain      = time.Minute
	tryAgainFinal = 5 * time.Minute
)

// awaited is how far the Job is. One of its fields says what is next.
type awaited struct {
	done    *jobspec.Done // its answer
	starts  bool          // there is no Job
	drops   string        // why the Job is deleted
	waits   string        // what for
	problem string        // why there is no answer, and what to do
	until   time.Time     // of problem: when there is another attempt; zero: not before something is changed
}

// awaited is how far the Job is whose answer is about a thing.
func (e errand) awaited(job jobs.Observed, about string, now time.Time) awaited {
	switch state := job.State(patience, now); {
	case state == jobs.Missing:
		return awaited{starts: true}
	case state == jobs.Foreign:
		return awaited{problem: fmt.Sprintf("job %s is in the way: it belongs to something else; delete it", job.Name)}
	case job.Deleting:
		return awaited{waits: e.job + " to be gone"}
	case job.For != about:
		return awaited{drops: e.other}
	case state == jobs.Unread:
		return awaited{waits: e.job + ", whose log cannot be read: " + job.Unread}
	case state == jobs.Ended:
		return e.answer(job, now)
	case job.Trouble != "":
		return awaited{waits: e.job + " to run: " + job.Trouble}
	case job.Progress.Message != "":
		return awaited{waits: fmt.Sprintf("%s, which is %s", e.job, job.Progress.Message)}
	}
	return awaited{waits: e.job}
}

// answer is what a Job says that has ended.
func (e errand) answer(job jobs.Observed, now time.Time) awaited {
	if done := job.Done(); done != nil && e.answers(done) {
		return awaited{done: done}
	}
	pause, problem := tryAgain, "the job ended without saying why: "+cmp.Or(job.Trouble, job.Unread, "nothing is known")
	if said := job.Failed(); said != nil {
		if problem = said.Message; said.Final {
			pause = tryAgainFinal
		}
	}
	if again := job.EndedAt.Add(pause); now.Before(again) {
		return awaited{problem: e.fails + ": " + problem, until: again}
	}
	return awaited{drops: e.again}
}
