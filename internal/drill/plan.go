// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drill decides the one next step for an EtcdDrill: whether the cluster may be disturbed, when, and when it has recovered. The same
// View always gives the same Step.
//
// It must never import a client, a clock, a logger or a context. It disturbs no cluster whose spec.drills is not Allowed, and repairs
// nothing: the rules of the cluster do, as after any failure.
package drill

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

const (
	// waitsFor is how long a drill waits before it has begun: a person who asked for it expects it to be over by then.
	waitsFor = time.Hour
	// recheck is how often it is looked whether a drill can begin where no watch reports it.
	recheck = 15 * time.Second
	// freshBackup is how old the newest verified backup may be where an action puts data at risk.
	freshBackup = 24 * time.Hour
	// writesWithin is how long the first writes may take: an image has to be pulled.
	writesWithin = 3 * time.Minute
	// firstWrites are acknowledged before the failure: a second of them.
	firstWrites = 20
	// settles is how long writes go on after the recovery, so that the log has what was measured until then.
	settles = 3 * time.Second
	// lingers is how long the Job that writes outlives what it may be needed for.
	lingers = 5 * time.Minute
)

// leaderRule is the rule for which it has to be known which member leads.
const leaderRule = "know the leader"

// patience is how long the Job is waited for. Its log matters only while it runs.
var patience = jobs.Policy{Unread: 10 * time.Second, First: time.Second, Last: time.Second}

var rule, under = rules.New[View, Step], rules.Under[View, Step]

// The rules are asked in order: end what was begun, refuse before waiting, wait before measuring, and measure before the failure.
var policy = rules.List[View, Step]{
	under("leave nothing behind",
		rule("end the hold", letGo, "ends the isolation that an earlier version has begun, and removes the finalizer"),
		rule("leave deleted drills alone", leaveDeleted, "does nothing for a drill that is being deleted: its Job goes with it"),
		rule("delete the job", deleteJob, "deletes the Job that writes, once the drill has ended"),
		rule("delete the restored cluster", deleteRestored, "deletes the cluster that a backup was restored into, once the drill has ended"),
		rule("begin again", again, "keeps the result of a drill with a schedule in its history when its time has come, and begins another run"),
		rule("rest", rest, "does nothing more for a drill that has ended, but to wait for its schedule"),
	),
	under("end what was begun",
		rule("know the action", unknown, "ends a drill with an action that an earlier version had, and this one does not have"),
		rule("notice another cluster", noticeOther, "ends a drill whose cluster is gone, or has become another one of its name"),
		rule("lose quorum", loseQuorum,
			"deletes two of three members of the cluster that a backup was restored into, and waits until its quorum is recovered"),
		rule("restore the backup", restore, "creates a cluster that begins with the backup, and waits until it serves, within spec.timeout"),
		rule("compare", compare, "ends the drill by how many keys that cluster has and the backup had, and by spec.expect"),
		rule("finish", finish, "ends the drill some seconds after the recovery, with what was measured"),
		rule("record recovery", recordRecovery, "writes down when all voters are healthy again, without those that the drill has removed"),
		rule("give up in time", giveUp, "ends a drill as failed whose cluster has not recovered within spec.timeout"),
		rule("record detection", recordDetection, "writes down when the status of the cluster shows the failure"),
		rule("measure", measure, "has Measure go on for spec.duration, whether a failure has shown or not"),
		rule("cause the failure", cause, "deletes the Pods, and volumes, that the status names by their UIDs, until they are gone"),
		rule("wait for recovery", awaitRecovery, "waits for the operator to repair the cluster, and touches nothing"),
	),
	under("refuse before waiting",
		rule("wait for its time", awaitTime, "waits for the time of the schedule, and writes it down when it has come"),
		rule("wait for the cluster to exist", postpone(v1beta1.ReasonClusterMissing, missing), "waits for the EtcdCluster"),
		rule("need permission", refuse(v1beta1.ReasonDrillsForbidden, forbidden), "refuses a drill of a cluster that does not allow drills"),
		rule("need quorum to spare", refuse(v1beta1.ReasonNoQuorumToSpare, noSpare),
			"refuses to take a member from a cluster that loses quorum without it"),
		rule("need volumes", refuse(v1beta1.ReasonNoVolumes, noVolumes), "refuses actions for which members need volumes"),
		rule("wait for earlier drills", postpone(v1beta1.ReasonAnotherDrill, another), "waits until no earlier drill of the cluster is left"),
		rule("wait for all members", postpone(v1beta1.ReasonNotWhole, notAll), "waits until every member that is wanted is healthy"),
		rule("wait for other changes", postpone(v1beta1.ReasonClusterBusy, isBusy),
			"waits while anything is in progress: a roll, an upgrade, a backup, a restore, a defragmentation, a rotation, a pause"),
		rule("wait for a backup", postpone(v1beta1.ReasonNoRecentBackup, noBackup),
			"waits for a verified backup younger than 24 hours before data is put at risk, and for any before one is restored"),
	),
	under("measure, then begin",
		rule("begin a restore", beginRestore, "writes down which backup is restored into which cluster; nothing writes meanwhile"),
		rule("name the job", nameJob, "writes the name of the Job into the status, before there is one"),
		rule("create the job", createJob, "creates the Job that writes"),
		rule("end without writes", endWithoutWrites, "ends a drill as failed, and touches nothing, if the Job cannot write"),
		rule("wait for writes", awaitWrites, "waits until the Job has had writes acknowledged for a second"),
		rule(leaderRule, knowLeader, "waits until every member has a Pod, and one says which member leads"),
		rule("begin", begin, "writes down which Pods and volumes are to be deleted, and when"),
	),
}

// Next returns the one step to take now, and the name of the rule that chose it.
func Next(v View) (Step, string) {
	if step, name := policy.Next(v); step != nil {
		return step, name
	}
	return Done{}, "as wanted"
}

// Policy are the rules in their order, with what each does.
func Policy() []rules.Line { return policy.Lines() }

func letGo(v View) Step {
	if !v.Held {
		return nil
	}
	return RemoveFinalizer{}
}

// PolicyName is the name of the NetworkPolicy with which an earlier version has isolated a member for a drill.
func PolicyName(d *v1beta1.EtcdDrill) string { return named(d.Name, string(d.UID), "isolation") }

func leaveDeleted(v View) Step {
	if !v.Deleting {
		return nil
	}
	return Done{}
}

func deleteJob(v View) Step {
	if v.Status.EndedAt == nil || !v.Job.Exists || !v.Job.Owned {
		return nil
	}
	return v.endJob(v.Job, "the drill has ended")
}

func (v View) endJob(job jobs.Observed, because string) Step {
	if job.Deleting {
		return Wait{Reason: v1beta1.ReasonMeasuring, For: "job " + job.Name + " to be deleted", Until: v.Now.Add(recheck)}
	}
	return DeleteJob{Name: job.Name, UID: job.UID, Because: because}
}

func rest(v View) Step {
	switch {
	case v.Status.EndedAt == nil:
		return nil
	case v.Spec.Schedule != "":
		return v.notAgain()
	}
	return Done{}
}

// refuse ends a drill that has not begun for a reason that does not pass by itself.
func refuse(reason string, why func(View) string) func(View) Step {
	return func(v View) Step {
		message := why(v)
		if message == "" {
			return nil
		}
		return v.end(v1beta1.DrillRefused, reason, message)
	}
}

// postpone waits for what passes, without a Job that writes meanwhile.
func postpone(reason string, why func(View) string) func(View) Step {
	return func(v View) Step {
		message := why(v)
		switch {
		case message == "":
			return nil
		case v.Job.Exists && v.Job.Owned && v.Status.Job != nil:
			return v.endJob(v.Job, "waiting for "+message)
		case v.Status.Job != nil:
			s := v.status()
			s.Job = nil
			return Record{Status: s, What: "no job writes while the drill waits"}
		case v.Now.After(v.asked().Add(waitsFor)):
			return v.end(v1beta1.DrillRefused, reason, fmt.Sprintf("given up after %s of waiting for %s", waitsFor, message))
		}
		return Wait{Reason: reason, For: message, Until: v.Now.Add(recheck)}
	}
}

// status is a copy of the status, to be changed.
func (v View) status() v1beta1.EtcdDrillStatus { return *v.Status.DeepCopy() }
