// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup decides what to do next for one EtcdBackup, and says how it stands. The same View always gives the
// same Step.
//
// It must never import a client, a clock, a logger or a context. It never has a second Job while there may be a first
// one, and never deletes what is stored unless deletionPolicy says so.
package backup

import "github.com/etcd-operator/etcd-operator/internal/rules"

var rule = rules.New[View, Step]

// The rules are asked in order, and the first to decide wins. Their order is the policy: finish the Job that was begun,
// then delete if that is wanted, then write, then verify.
//
// A Job has its name in the status before it exists, and keeps it until what it said is in the status and it is gone. So the status names
// the only Job that there may be, whenever the operator dies. Every report adds the UID of the Job that is there, so that another one of
// its name is never taken for it, and drops the name of one that has ended and is gone. A VolumeSnapshot that is being taken has the place
// of such a Job; one that is ready is the backup, and stays.
var policy = rules.Of(
	rule("leave it to others", leaveToOthers, "does nothing for an object that is being deleted and has no finalizer of ours"),
	rule("hold or let go", holdOrLetGo, "has the finalizer on the object exactly while deletionPolicy is Delete"),

	rule("end what deletion overtakes", endOvertaken, "deletes the Job of an object that is being deleted, unless it deletes what is stored"),
	rule("create the job", createJob,
		"creates the Job, or VolumeSnapshot, that the status names, or takes its name back if it cannot do its work any more"),
	rule("count lost jobs", countLost, "counts a Job that is gone, or replaced, before it ended as an attempt that failed"),
	rule("wait for the job", awaitJob, "waits until the Job has ended"),
	rule("record the result", recordResult, "writes down what the Job said, before anything else happens to the Job"),
	rule("delete the ended job", deleteEnded, "deletes a Job whose result is written down"),

	rule("retain what is stored", retain, "lets an object go whose deletionPolicy is Retain, or that has nothing in a store"),
	rule("let go without a store", letGoWithoutStore, "lets an object go whose store does not exist any more; what is stored stays"),
	rule("wait for the lock", awaitLock, "waits until the store allows what is stored to be deleted"),
	rule("delete what is stored", deleteStored, "names a Job that deletes the backup from the store, or deletes its VolumeSnapshot"),

	rule("copy the listing", copyListing, "writes down what the list of a store says of a backup that lies in it"),
	rule("give up", giveUp, "refuses what has failed for good"),
	rule("give up in time", giveUpInTime, "gives a backup of a schedule up when the schedule should rather make the next one"),
	rule("leave what is gone", leaveGone, "neither verifies nor writes again a backup that is not in its store any more"),
	rule("find again", findAgain,
		"takes what the store has of an object that was put back without its status, and writes nothing under its name"),
	rule("wait to back up", awaitBackup, "waits for the store, the cluster and the pause after an attempt that failed"),
	rule("mark the upload", markUpload, "has the folder in the store, or the VolumeSnapshot, on the object before anything is written there"),
	rule("back up", backUp, "names a Job that writes the backup, or a VolumeSnapshot that is taken"),

	rule("follow a request", followRequest, "wants another trial when a person asks for one"),
	rule("need an identity", needIdentity, "verifies no encrypted backup without an identity that decrypts it"),
	rule("end trials in time", endTrials, "ends the trials of a backup of a schedule after some hours that proved nothing"),
	rule("wait to verify", awaitTrial, "waits for the store and the pause after a trial that proved nothing"),
	rule("verify", verify, "names a Job that restores the backup on trial"),
)

// Next returns the one step to take now, and the name of the rule that chose it.
func Next(v View) (Step, string) {
	if step, name := policy.Next(v); step != nil {
		return step, name
	}
	return Done{}, "as wanted"
}
