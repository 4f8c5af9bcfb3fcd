// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// A backup by VolumeSnapshot is of the volume of one member that serves: what that member would start with after a crash of its node. While
// it is taken, the VolumeSnapshot has the place of the Job that writes to a store: its name is in status.job before it exists, one that
// fails is deleted, and another one follows after the same pauses. One that is ready is the backup, and stays.

// Source is the member whose volume is taken, as it was just before.
type Source struct {
	Member       string // empty: none was asked
	Revision     int64  // that it had, by a read that needs a quorum: its log has every write up to there
	Version      string // of etcd
	Database     int64  // bytes
	StorageClass string // of its volume
	Size         string // of its volume, as a quantity
	At           time.Time
	Problem      string // why none can be taken; empty: Member can
}

func (v View) isSnapshot() bool { return v.Spec.VolumeSnapshot != nil }

// NeedsSource says whether a VolumeSnapshot may have to be taken now, so that a member is asked what it has.
func NeedsSource(seen Seen) bool {
	b := seen.Backup
	job := b.Status.Job
	isNext := job == nil || job.Task == Backup && !job.Ended && job.UID == "" && seen.Snapshot == nil
	return b.Spec.VolumeSnapshot != nil && b.Status.VolumeSnapshot == nil && b.DeletionTimestamp == nil && isNext &&
		!Facts(seen).isHopeless(Backup) && (b.Status.RetryAt == nil || !seen.Now.Before(b.Status.RetryAt.Time))
}

// Sources are the members whose volumes may be taken, in that order: voters that serve, the leader last. A learner has no vote, and
// may be far behind.
func Sources(c *v1beta1.EtcdCluster) []string {
	var names []string
	for _, m := range jobs.Members(c) {
		i := slices.IndexFunc(c.Status.Members, func(s v1beta1.MemberStatus) bool { return s.Name == m.Name })
		if !m.Learner && c.Status.Members[i].Healthy {
			names = append(names, m.Name)
		}
	}
	return names
}

// SnapshotName is the VolumeSnapshot that is to be read for an EtcdBackup; empty if there can be none.
func SnapshotName(b *v1beta1.EtcdBackup) string {
	switch {
	case b.Spec.VolumeSnapshot == nil:
		return ""
	case b.Status.Job != nil && b.Status.Job.Task == Backup:
		return b.Status.Job.Name
	case b.Status.VolumeSnapshot != nil:
		return b.Status.VolumeSnapshot.Name
	}
	return b.Annotations[v1beta1.AnnotationUpload]
}

// snapshotObstacle says why no VolumeSnapshot can be taken now, or none can be read.
func snapshotObstacle(v View, task string) (reason, why string) {
	reason, why = clusterObstacle(v.Cluster)
	switch {
	case task == Backup && reason != "":
		return reason, why
	case task == Backup && v.Cluster.Ephemeral:
		return v1beta1.ReasonNoVolumes, fmt.Sprintf("EtcdCluster %s to have volumes: storage.ephemeral has none of which a VolumeSnapshot "+
			"could be taken; create an EtcdBackup with a store", v.Cluster.Name)
	case v.NoSnapshots != "":
		return v1beta1.ReasonSnapshotsMissing, "Kubernetes to have VolumeSnapshots: " + v.NoSnapshots
	case task == Backup && v.Source.Problem != "":
		return v1beta1.ReasonNoMemberAnswers,
			fmt.Sprintf("a member of EtcdCluster %s whose volume can be taken: %s", v.Cluster.Name, v.Source.Problem)
	}
	return "", ""
}

// snapshotWait is how often it is looked at what no watch reports: CRDs that are installed, a VolumeSnapshot that is gone.
const snapshotWait = time.Minute

// takes says whether the task has a VolumeSnapshot taken, and no Job run.
func (v View) takes(task string) bool { return v.isSnapshot() && task == Backup }

// work is what the status names: a job, or the VolumeSnapshot that is being taken.
func (v View) work(task string) string {
	if v.takes(task) {
		return "VolumeSnapshot"
	}
	return "job"
}

// snapshotUID is that of the VolumeSnapshot that has the data, if it is there.
func (v View) snapshotUID() string {
	s := v.Status.VolumeSnapshot
	isIt := s != nil && s.UID == v.Taken.UID || s == nil && v.Taken.For == v.Name
	if !v.Taken.Exists || !isIt {
		return ""
	}
	return v.Taken.UID
}

// withoutSnapshot is why the VolumeSnapshot that had the data has it no longer; empty if it has.
func (v View) withoutSnapshot() string {
	switch {
	case v.Status.VolumeSnapshot == nil:
		return ""
	case v.NoSnapshots != "":
		return v.NoSnapshots
	case v.snapshotUID() == "":
		return fmt.Sprintf("VolumeSnapshot %s does not exist any more", v.Status.VolumeSnapshot.Name)
	}
	return ""
}

// findSnapshot is about an EtcdBackup that was put back by a backup tool: it stands for the VolumeSnapshot that it had, and for no other.
func (v View) findSnapshot() Step {
	if !v.isPutBack() {
		return nil
	}
	done := v.Taken.Done()
	if v.Taken.For == v.Name && done != nil {
		s := v.recordSnapshot(*done)
		return Record{
			Status: s, Event: "BackupFoundAgain", What: "found again, as this EtcdBackup was put back without its status: " + stored(s),
		}
	}
	return Wait{
		Task: Backup, Reason: v1beta1.ReasonContentGone, Until: v.Now.Add(snapshotWait),
		For: fmt.Sprintf("VolumeSnapshot %s, which this EtcdBackup stood for before it was put back without its status; "+
			"for a new backup create an EtcdBackup of another name without the annotation %s", v.Upload, v1beta1.AnnotationUpload),
	}
}

// recordSnapshot is the status once the VolumeSnapshot is ready. It is not deleted, as a Job would be: the status names it elsewhere.
func (v View) recordSnapshot(done jobspec.Done) v1beta1.EtcdBackupStatus {
	s := v.status()
	s.Job, s.Failure, s.RetryAt, s.Attempts = nil, nil, nil, 0
	putFacts(&s, *done.Backup)
	s.Path, s.Source = v.Taken.Name, done.Source
	s.VolumeSnapshot = v.Reference.DeepCopy()
	s.Trial = &v1beta1.BackupTrial{Wanted: v.wantsTrial(*done.Backup), Request: v.Request}
	return s
}

// deleteSnapshot deletes the VolumeSnapshot of an EtcdBackup whose deletionPolicy is Delete, and then lets the object go.
func (v View) deleteSnapshot() Step {
	switch {
	case v.NoSnapshots != "":
		return RemoveFinalizer{Because: "nothing is left to be deleted: " + v.NoSnapshots, Event: "BackupOrphaned", Warns: true}
	case v.snapshotUID() == "":
		return RemoveFinalizer{Because: fmt.Sprintf("VolumeSnapshot %s is deleted", v.path()), Event: "BackupDeleted"}
	}
	return v.dropSnapshot("deletionPolicy is Delete")
}

// dropSnapshot deletes the VolumeSnapshot that was read, or waits while it is being deleted: its CSI driver deletes what it keeps first.
func (v View) dropSnapshot(because string) Step {
	if v.Taken.Deleting {
		return Wait{
			Task: Delete, Soon: true,
			For: strings.TrimSuffix(fmt.Sprintf("VolumeSnapshot %s to be deleted by its CSI driver: %s", v.Taken.Name, v.Taken.Trouble), ": "),
		}
	}
	return DeleteSnapshot{Name: v.Taken.Name, UID: v.Taken.UID, Because: because}
}

// awaitSnapshot says what is known of a VolumeSnapshot that is being taken.
func (v View) awaitSnapshot(name string) Step {
	what := fmt.Sprintf("VolumeSnapshot %s to be ready", name)
	if v.Taken.Trouble != "" {
		what += ": " + v.Taken.Trouble
	}
	return Wait{Task: Backup, Reason: v1beta1.ReasonSnapshotPending, For: what, Soon: true}
}
