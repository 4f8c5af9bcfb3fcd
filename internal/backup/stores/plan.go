// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stores decides the one next step for an EtcdBackupStore: when it is looked at, and what the answer means. The same
// View always gives the same Step.
//
// It must never import a client, a clock, a logger or a context. It never has two Jobs for a store, and never deletes an EtcdBackup that
// was not found in this store. Of one that was not it changes no more than the annotation that says that its backup is gone.
package stores

import (
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// always is how long after a look the next one is.
const always = 5 * time.Minute

// patience is how long Jobs are waited for. A store that fails is asked again soon: most faults are short, or are just being fixed by a
// person.
var patience = jobs.Policy{Unread: 2 * time.Minute, First: 10 * time.Second, Last: always}

const (
	// tries is how often writing is tried, which leaves something behind in stores that lock what is written.
	tries = time.Hour
	// settles is the shortest pause between two looks, unless a person asks: backups end, and are deleted, several at a time.
	settles = 10 * time.Second
	// recheckInterval is how often it is read whether what the spec names is there and unchanged, while that keeps the store from being used.
	recheckInterval = 10 * time.Second
	// startsWithin is how long a Job may take to start before it is said what keeps it.
	startsWithin = 30 * time.Second
)

var rule = rules.New[View, Step]

// The rules are asked in order, and the first to decide wins: finish the Job that was begun, then see whether there is a reason
// for another one.
var policy = rules.Of(
	rule("leave deleted stores alone", leaveDeleted,
		"does nothing for a store that is being deleted: its Job and what was found in it go with it"),
	rule("leave the job of others", leaveForeign, "waits while something else has a Job of the same name"),
	rule("wait for the job to go", awaitDeletion, "waits until a Job that is being deleted is gone"),
	rule("delete the recorded job", deleteRecorded, "deletes a Job whose answer is in the status"),
	rule("delete the outdated job", deleteOutdated, "deletes a Job that looks at what the spec said before"),
	rule("record the answer", recordAnswer, "makes EtcdBackups of what was found, and writes down how the store is"),
	rule("need what is named", needSources, "creates no Job, and deletes the one that waits, while a Secret, a key or a volume is missing"),
	rule("wait for the job", awaitJob, "waits until the Job has ended; the store is as usable meanwhile as it was"),
	rule("need an image", needImage, "creates no Job while the operator does not know its own image"),
	rule("wait until it is due", awaitDue, "waits until there is a reason to look again"),
	rule("look", look, "creates a Job that looks at the store"),
)

// Next returns the one step to take now, and the name of the rule that chose it.
func Next(v View) (Step, string) {
	if step, name := policy.Next(v); step != nil {
		return step, name
	}
	return Wait{For: "nothing", Status: v.status()}, "as wanted"
}

// status is a copy of the status, to be changed.
func (v View) status() v1beta1.EtcdBackupStoreStatus {
	status := *v.Store.Status.DeepCopy()
	status.Type = typeOf(v.Store.Spec)
	return status
}

func leaveDeleted(v View) Step {
	if v.Store.DeletionTimestamp.IsZero() {
		return nil
	}
	return Wait{For: "the store to be deleted", Status: v.status()}
}

func leaveForeign(v View) Step {
	if !v.Job.Exists || v.Job.Owned {
		return nil
	}
	message := "Job " + JobName(&v.Store) + " is in the way: it does not belong to this store; delete it"
	status := v.unusable(v1beta1.ReasonCheckBlocked, message)
	return Wait{For: "a Job of that name to be deleted", Status: status, Until: v.Now.Add(recheckInterval)}
}

func awaitDeletion(v View) Step {
	if !v.Job.Exists || !v.Job.Deleting {
		return nil
	}
	return Wait{For: "the Job to be gone", Status: v.status()}
}

func deleteRecorded(v View) Step {
	if !v.Job.Exists || v.Job.UID != v.Store.Status.CheckedBy {
		return nil
	}
	return DeleteJob{UID: v.Job.UID, Because: "its answer is recorded"}
}

func deleteOutdated(v View) Step {
	if !v.Job.Exists || v.asked().Generation == v.Store.Generation {
		return nil
	}
	return DeleteJob{UID: v.Job.UID, Because: "it looks at what the spec said before"}
}

func recordAnswer(v View) Step {
	if v.Job.State(patience, v.Now) != jobs.Ended {
		return nil
	}
	return record(v)
}

func needSources(v View) Step {
	reason, message := missing(v)
	switch {
	case reason == "":
		return nil
	case v.Job.Exists:
		return DeleteJob{UID: v.Job.UID, Because: message}
	}
	return Wait{For: "what the spec names", Status: v.unusable(reason, message), Until: v.Now.Add(recheckInterval)}
}

func awaitJob(v View) Step {
	if !v.Job.Exists {
		return nil
	}
	return Wait{For: "the answer of the store", Status: running(v)}
}

func needImage(v View) Step {
	if v.NoImage == "" {
		return nil
	}
	return Wait{For: "the operator's image", Status: v.unusable(v1beta1.ReasonNoImage, v.NoImage), Until: v.Now.Add(recheckInterval)}
}

func awaitDue(v View) Step {
	due := dueAt(v)
	if !v.Now.Before(due) {
		return nil
	}
	status, until := v.status(), due
	if soon := v.Now.Add(recheckInterval); status.Failures > 0 && len(v.Sources) > 0 && soon.Before(until) {
		until = soon // no watch reports other keys
	}
	return Wait{For: "the next look", Status: status, Until: until}
}

func look(v View) Step {
	asked := Asked{
		Generation: v.Store.Generation, Request: v.Store.Annotations[v1beta1.AnnotationCheck],
		Sources: versionsOf(v.Sources), Try: isTryDue(v),
	}
	return CreateJob{Asked: asked, Memory: v.Memory, First: v.first()}
}

// isAsked says whether a check is requested now: by another spec, or by the annotation.
func isAsked(v View) bool {
	s := v.Store
	return s.Status.CheckedAt == nil || s.Status.ObservedGeneration != s.Generation ||
		s.Annotations[v1beta1.AnnotationCheck] != s.Status.Request
}

// hasOtherKeys says whether the Secrets and ConfigMaps of the spec are others than those that the last look used.
func hasOtherKeys(v View) bool { return versionsOf(v.Sources) != v.Store.Status.Sources }

// hasOtherBackups says whether a backup was completed, was deleted, or has failed since the last look. While a Job of a backup uses
// the store its end is waited for.
func hasOtherBackups(v View) bool {
	for i := range v.Backups {
		if v.Backups[i].Status.Job != nil && v.isHere(&v.Backups[i]) {
			return false
		}
	}
	return v.shown(v.Backups) != v.Store.Status.Shown
}

func dueAt(v View) time.Time {
	status := v.Store.Status
	if isAsked(v) {
		return v.Now
	}
	pause := always
	if status.Failures > 0 {
		pause = patience.Pause(int(status.Failures))
	}
	if hasOtherKeys(v) || status.Failures == 0 && hasOtherBackups(v) {
		pause = settles
	}
	due := status.CheckedAt.Add(pause)
	if v.Now.Add(pause).Before(due) { // the clock was put back
		return v.Now
	}
	return due
}

// isTryDue says whether something is to be written, read and deleted on trial: a list alone does not show why a backup failed.
func isTryDue(v View) bool {
	status := v.Store.Status
	return isAsked(v) || hasOtherKeys(v) || status.Failures > 0 || v.hasFailing() ||
		status.TriedAt == nil || v.Now.Sub(status.TriedAt.Time) >= tries || v.Now.Before(status.TriedAt.Time)
}

// hasFailing says whether a backup that is about this store is failing.
func (v View) hasFailing() bool {
	return slices.ContainsFunc(v.Backups, func(b v1beta1.EtcdBackup) bool { return v.isHere(&b) && isFailing(&b) })
}

func typeOf(spec v1beta1.EtcdBackupStoreSpec) string {
	switch {
	case spec.S3 != nil:
		return "S3"
	case spec.GCS != nil:
		return "GCS"
	case spec.Azure != nil:
		return "Azure"
	default:
		return "Volume"
	}
}
