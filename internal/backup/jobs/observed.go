// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"cmp"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// Observed is what one look at the Job of a name has shown. All kinds that have work done by Jobs decide by it.
//
// A Job has one life, the same for every kind. Its name follows from its owner and its task, so that there is at most one; its
// controller, by UID, says which object owns it; For says what it was created for. It is created where it is missing, awaited while it
// runs, and deleted, by its UID, only when what it said is recorded by its owner.
type Observed struct {
	Exists   bool
	Name     string
	UID      string
	Owned    bool // by the object that asks, and by no other one that had its name
	Deleting bool
	For      string    // what it was created for, as MadeFor wrote it
	Created  time.Time // that it was created
	Begun    time.Time // that its Pod began; Created while that is not known

	Output
}

// Output is what is known of a Job from its conditions, its Pod and its log.
type Output struct {
	Ended    bool // it runs no Pod any more, and begins none
	EndedAt  time.Time
	Progress jobspec.Progress // of the last line that reports it
	Lines    []jobspec.Line   // of a Job that has ended: all but progress
	Trouble  string           // why its Pod does not run, or how it ended, in the words of Kubernetes; empty: nothing is known
	Unread   string           // why its log cannot be read; empty: it was read
	Due      time.Time        // until when its Pod was to end, which is being deleted; zero: it is not
}

// Observe is a Job as its owner sees it; nil: there is none. The output is that of a Job that the owner has.
func Observe(job *batchv1.Job, owner metav1.Object, output Output) Observed {
	if job == nil {
		return Observed{}
	}
	o := Observed{
		Exists: true, Name: job.Name, UID: string(job.UID), Owned: metav1.IsControlledBy(job, owner), Deleting: job.DeletionTimestamp != nil,
		For: cmp.Or(job.Annotations[v1beta1.AnnotationAsked], job.Annotations[volumeUID]), Created: job.CreationTimestamp.Time,
		Begun: job.CreationTimestamp.Time, Output: output,
	}
	if start := job.Status.StartTime; start != nil {
		o.Begun = start.Time
	}
	return o
}

// volumeUID is the annotation by which Jobs of 0.7 and earlier say which volume they fill.
const volumeUID = "etcd-operator.dev/volume-uid"

// MadeFor writes on a Job what it is created for, where its name does not say that: what it answers is about this, whatever has changed
// since.
func MadeFor(job *batchv1.Job, what string) *batchv1.Job {
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1beta1.AnnotationAsked, what)
	return job
}

// State is where a Job is in its life.
type State int

// The states in which the Job of a name may be.
const (
	Missing State = iota // there is none
	Foreign              // another object's Job has the name
	Leaving              // it is being deleted
	Running              // it has not ended
	Unread               // it has ended, and what it said cannot be read yet
	Ended                // it has ended, and what it said is known, or never will be
)

// State is where the Job is. A log that cannot be read is waited for as long as the policy says: its node may be silent for a while.
func (o Observed) State(p Policy, now time.Time) State {
	switch {
	case !o.Exists:
		return Missing
	case !o.Owned:
		return Foreign
	case o.Ended && o.Unread != "" && now.Before(o.EndedAt.Add(p.Unread)):
		return Unread
	case o.Ended:
		return Ended
	case o.Deleting:
		return Leaving
	default:
		return Running
	}
}

// end is the last line that ends a Job; empty if none does.
func (o Output) end() jobspec.Line {
	for i := len(o.Lines) - 1; i >= 0; i-- {
		if line := o.Lines[i]; line.Done != nil || line.Failed != nil {
			return line
		}
	}
	return jobspec.Line{}
}

// Done is the result of a Job that succeeded; nil for any other.
func (o Output) Done() *jobspec.Done { return o.end().Done }

// Failed is why a Job says that it failed; nil for any other.
func (o Output) Failed() *jobspec.Failed { return o.end().Failed }

// Policy is how long a kind waits for its Jobs.
type Policy struct {
	// Unread is for how long the log of a Job that has ended is waited for.
	Unread time.Duration
	// First is the pause after an attempt that failed. It is twice as long after each further one, and Last at most.
	First, Last time.Duration
}

// Pause is how long the next attempt waits after that many in a row have failed.
func (p Policy) Pause(failures int) time.Duration {
	pause := p.First
	for range failures - 1 {
		if pause *= 2; pause >= p.Last {
			break
		}
	}
	return min(pause, p.Last)
}
