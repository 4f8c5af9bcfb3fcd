// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// scheduleWaits is for how long a backup that a schedule wanted is tried, and then its trial. The schedule makes another
// one, with newer data, which the older one would only hold up.
const scheduleWaits = 6 * time.Hour

// obstacle says why a task cannot begin now: the reason of the condition that it is about, and what is waited for. Both
// are empty if it can.
func obstacle(v View, task string) (reason, why string) {
	store := v.Store
	if v.isSnapshot() {
		return snapshotObstacle(v, task)
	}
	switch {
	case store.Name == "":
		return v1beta1.ReasonNoStoreNamed, fmt.Sprintf("a store: set spec.backup.store of EtcdCluster %s, "+
			"or create an EtcdBackup with spec.store", v.Cluster.Name)
	case !store.Exists:
		return v1beta1.ReasonStoreMissing, fmt.Sprintf("EtcdBackupStore %s, which does not exist: create it", store.Name)
	case task == Delete: // a store that is full, and thus not ready, must be able to become emptier
		return "", ""
	case !store.Ready:
		return v1beta1.ReasonStoreUnready, fmt.Sprintf("EtcdBackupStore %s, which is not ready: %s", store.Name, store.Why)
	case task == Verify:
		return "", ""
	case v.Volume.Name != "":
		return volumeObstacle(v.Cluster, v.Volume)
	}
	return clusterObstacle(v.Cluster)
}

// volumeObstacle says why the volume of a member cannot be read.
func volumeObstacle(c Cluster, volume Volume) (reason, why string) {
	switch {
	case !c.Exists:
		return clusterObstacle(c)
	case !volume.Exists:
		return v1beta1.ReasonVolumeMissing, fmt.Sprintf("volume %s, which does not exist: name the volume of a member of EtcdCluster %s",
			volume.Name, c.Name)
	case volume.Foreign != "":
		return v1beta1.ReasonVolumeMissing, fmt.Sprintf("volume %s to be one of EtcdCluster %s: %s", volume.Name, c.Name, volume.Foreign)
	case volume.Runs:
		return v1beta1.ReasonMemberRuns, fmt.Sprintf("pod %s to be gone: only the volume of a member that does not run is backed up; "+
			"without spec.volume the members that run are", volume.Name)
	}
	return "", ""
}

// clusterObstacle says why no member can be asked for a snapshot.
func clusterObstacle(c Cluster) (reason, why string) {
	switch {
	case !c.Exists:
		return v1beta1.ReasonClusterMissing, fmt.Sprintf("EtcdCluster %s, which does not exist: create it, or delete this EtcdBackup", c.Name)
	case c.Hibernated:
		return v1beta1.ReasonClusterHibernated, fmt.Sprintf("EtcdCluster %s to wake: spec.size is 0, so that no member can be asked", c.Name)
	case c.ID == "":
		return v1beta1.ReasonClusterNotFormed, fmt.Sprintf("EtcdCluster %s to form", c.Name)
	case c.Corrupt != "":
		return v1beta1.ReasonClusterCorrupt, fmt.Sprintf("EtcdCluster %s to have its alarm disarmed, with which no backup can be restored: %s",
			c.Name, c.Corrupt)
	case c.Answering == 0 && c.Locked:
		return v1beta1.ReasonJobAuthEnabled, fmt.Sprintf("EtcdCluster %s to answer: %s, and the operator is none of them: "+
			"disable it (etcdctl auth disable), or make backups with etcdctl as its root", c.Name, cluster.LockedBecause)
	case c.Answering == 0:
		return v1beta1.ReasonNoMemberAnswers, fmt.Sprintf("a member of EtcdCluster %s to answer: %s", c.Name, c.Why)
	default:
		return "", ""
	}
}

// copyListing is about a backup that was found: the list of the store is all that is known of it.
func copyListing(v View) Step {
	switch {
	case !v.isFound():
		return nil
	case v.Listed == nil && v.Status.Path == "":
		return Wait{
			Task: Backup, Reason: v1beta1.ReasonNotListed,
			For: fmt.Sprintf("the list of EtcdBackupStore %s to say what %s is", v.Store.Name, v.Spec.Found),
		}
	case v.Listed == nil:
		return nil
	}
	s := v.listed()
	if equality.Semantic.DeepEqual(s, v.Status) {
		return nil
	}
	if v.Listed.Problem != "" {
		return Record{Status: s, What: s.Failure.Message, Event: "BackupUnusable", Warns: true}
	}
	if s.NoHash && !v.Status.NoHash {
		return Record{Status: s, What: "found: " + stored(s), Event: "BackupWithoutHash", Warns: true}
	}
	return Record{Status: s, What: "found: " + stored(s)}
}

// isReplaced says whether the list has another content under the path. What another program made has no manifest: its size and
// its time are compared here, and the sha256 of what was tried when it is restored.
func (v View) isReplaced() bool {
	s, now := v.Status, v.Listed.Backup
	if v.Listed.Program == "" {
		return now.ManifestSHA256 != s.ManifestSHA256
	}
	size, began := s.StoredSize, ptr.Deref(s.StartedAt, metav1.Time{})
	return size == nil || size.Value() != now.Stored || !began.Equal(ptr.To(moment(now.StartedAt)))
}

// listed is the status with what the list says. A trial is about the content that it was made with.
func (v View) listed() v1beta1.EtcdBackupStatus {
	s := v.status()
	if v.isReplaced() {
		s.Verified, s.Trial, s.ManifestSHA256 = nil, nil, ""
		s.Revision, s.Keys, s.DatabaseSize, s.EtcdVersion, s.NoHash = 0, nil, nil, "", false
		if v.hasFailed(Verify) {
			s.Failure, s.RetryAt = nil, nil
		}
	}
	facts := v.Listed.Backup
	if s.Verified != nil && v.Listed.Program != "" {
		facts.Revision = 0 // the name of an object says one; the trial has found the one that it has
	}
	putFacts(&s, facts)
	s.Path, s.Store, s.Program = v.Spec.Found, v.Store.Name, v.Listed.Program
	s.NoHash = s.NoHash || v.Listed.NoHash // what is compressed shows it in its trial
	if v.Listed.Problem != "" {
		s.Failure = &v1beta1.BackupFailure{Task: Backup, Reason: v1beta1.ReasonUnusable, Message: shortened(v.Listed.Problem), Final: true}
		s.RetryAt = nil
		return s
	}
	wasUnusable := v.hasFailed(Backup)
	if wasUnusable {
		s.Failure = nil
	}
	if s.Trial == nil || wasUnusable && s.Verified == nil && s.Trial.Reason == "" {
		s.Trial = &v1beta1.BackupTrial{Wanted: v.wantsTrial(v.Listed.Backup), Request: v.Request}
	}
	return s
}

func giveUp(v View) Step {
	if v.IsComplete() || !v.isHopeless(Backup) {
		return nil
	}
	return Refuse{Reason: v.Status.Failure.Reason, Because: v.Status.Failure.Message}
}

// isGone says whether the backup was written, and is no longer in the store.
func (v View) isGone() bool { return v.IsComplete() && v.Gone != "" }

func leaveGone(v View) Step {
	if !v.isGone() {
		return nil
	}
	return Refuse{Reason: v1beta1.ReasonContentGone, Because: v.Gone}
}

func giveUpInTime(v View) Step {
	if v.IsComplete() || v.isFound() || !v.Scheduled || v.Now.Before(v.deadline(v.Created)) {
		return nil
	}
	last := "it was never begun"
	if _, why := obstacle(v, Backup); why != "" {
		last = "it waited for " + why
	} else if v.hasFailed(Backup) {
		last = v.Status.Failure.Message
	}
	s := v.status()
	s.Failure = &v1beta1.BackupFailure{
		Task: Backup, Reason: v1beta1.ReasonTooLate, Final: true,
		Message: shortened(fmt.Sprintf("it was not written within %s, and the schedule makes the next one: %s", hours(scheduleWaits), last)),
	}
	s.RetryAt = nil
	return failure(s)
}

// deadline is when the schedule should rather make the next backup.
func (v View) deadline(from time.Time) time.Time { return from.Add(scheduleWaits) }

func hours(d time.Duration) string { return fmt.Sprintf("%d hours", int(d.Hours())) }

func awaitBackup(v View) Step {
	if v.IsComplete() {
		return nil
	}
	return v.await(Backup, v.Created)
}

// await waits until a task can begin. One for a schedule is given up some time after that moment.
func (v View) await(task string, since time.Time) Step {
	var until time.Time
	if v.Scheduled && !since.IsZero() {
		until = v.deadline(since)
	}
	if reason, why := obstacle(v, task); reason != "" {
		if v.isSnapshot() && until.IsZero() {
			until = v.Now.Add(snapshotWait)
		}
		return Wait{Task: task, Reason: reason, For: why, Until: until}
	}
	retry := v.retryAt(task)
	if !v.Now.Before(retry) {
		return nil
	}
	if until.IsZero() || retry.Before(until) {
		until = retry
	}
	return Wait{
		Task: task, Reason: v1beta1.ReasonRetrying, Until: until,
		For: fmt.Sprintf("the next attempt at %s: attempt %d failed: %s", clock(retry), v.Status.Attempts, v.Status.Failure.Message),
	}
}

func backUp(v View) Step {
	if v.IsComplete() {
		return nil
	}
	return v.named(Backup)
}

// finishedAt is when the backup was complete; zero if that is not known.
func (v View) finishedAt() time.Time {
	if v.Status.FinishedAt == nil {
		return time.Time{}
	}
	return v.Status.FinishedAt.Time
}
