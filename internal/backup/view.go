// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// What a Job of a backup does, as status.job.task says it.
const (
	Backup = "Backup"
	Verify = "Verify"
	Delete = "Delete"
)

// View is one observation of an EtcdBackup: facts only, as plain values.
type View struct {
	Name, Namespace, UID string

	Created      time.Time
	Deleting     bool
	HasFinalizer bool   // ours: the object stays until what is stored is deleted
	Scheduled    bool   // the schedule of a cluster has made it: another one follows if it fails
	Upload       string // name of the folder that an object of this name was written to, by the annotation; empty: none
	Request      string // value of the annotation that asks for another trial; empty: none

	Spec   v1beta1.EtcdBackupSpec
	Status v1beta1.EtcdBackupStatus

	Gone    string          // why the content is no longer in the store; empty: as far as is known it is there
	Again   []jobspec.Found // what the list of the store has of this name, before anything is written
	Listed  *jobspec.Found  // what the list of the store says of a backup that was found; nil: nothing yet
	Store   Store
	Cluster Cluster
	Volume  Volume        // that is backed up instead of what the cluster serves; without a Name none is
	Job     jobs.Observed // of the name in the status

	// Of a backup by VolumeSnapshot: what was read under the name of it, what the status says of it once it is ready, why Kubernetes has none
	// at all, and the member whose volume is taken next.
	Taken       jobs.Observed
	Reference   *v1beta1.VolumeSnapshotReference
	NoSnapshots string
	Source      Source

	Recipients []string // of age, for a backup that is yet to be written; none: it is not encrypted
	Decryption string   // name of the Secret with identities of age; empty: none
	Now        time.Time
}

// Store is the EtcdBackupStore that the backup is in, or is written to.
type Store struct {
	Name   string // empty: neither the EtcdBackup nor the cluster names one
	Exists bool
	Ready  bool
	Why    string // why it is not ready, in the store's words
}

// Cluster is the EtcdCluster that is backed up.
type Cluster struct {
	Name       string
	Exists     bool // and is not being deleted
	UID        string
	ID         string // etcd's, in hexadecimal; empty: it has not formed
	Recoveries int64  // how often it has gone on without acknowledged writes
	Hibernated bool
	Ephemeral  bool   // its members have no volumes
	Corrupt    string // what the cluster says of its alarm CORRUPT; empty: there is none
	Answering  int    // members that answer linearizable reads
	Locked     bool   // etcd answers its users only
	Why        string // why none does, in the cluster's words

	Verify       v1beta1.VerifyPolicy // empty: by the size of the database
	LastVerified time.Time            // when the newest backup that is verified was begun; zero: there is none
}

// Volume is that of a member that does not run.
type Volume struct {
	Name      string
	Exists    bool
	Foreign   string // why it is not one of the cluster; empty if it is
	Runs      bool   // its member has a Pod
	Size      int64  // bytes
	Version   string // of etcd, that the member ran last
	ClusterID string // of etcd, in hexadecimal; empty: it does not say
}

// isFound says whether the backup lay in the store already.
func (v View) isFound() bool { return v.Spec.Found != "" }

// IsComplete says whether the backup is in the store, and can be restored for all that is known.
func (v View) IsComplete() bool {
	switch {
	case v.isFound():
		return v.Status.Path != "" && !v.hasFailed(Backup)
	case v.isSnapshot():
		return v.Status.VolumeSnapshot != nil
	}
	return v.Status.ManifestSHA256 != ""
}

// isUnproven says whether another program made the backup, and no etcd has served it: whether it is whole is not known, or it is not.
func (v View) isUnproven() bool {
	return v.IsComplete() && v.Status.Program != "" && v.Status.Verified == nil
}

// isDamaged says whether the last trial that proved something has shown that the backup cannot be restored.
func (v View) isDamaged() bool { return v.Status.Trial != nil && v.Status.Trial.Reason != "" }

// hasFailed says whether the last attempt at the task has failed.
func (v View) hasFailed(task string) bool {
	return v.Status.Failure != nil && v.Status.Failure.Task == task
}

// isHopeless says whether the task has failed and is not tried again.
func (v View) isHopeless(task string) bool { return v.hasFailed(task) && v.Status.Failure.Final }

// retryAt is when the task is tried again after it has failed; zero if it has not.
func (v View) retryAt(task string) time.Time {
	if !v.hasFailed(task) || v.Status.RetryAt == nil {
		return time.Time{}
	}
	return v.Status.RetryAt.Time
}

// isTrialWanted says whether the backup is still to be restored on trial.
func (v View) isTrialWanted() bool { return v.Status.Trial != nil && v.Status.Trial.Wanted }

// deletes says whether what is stored is deleted with the object.
func (v View) deletes() bool { return v.Spec.DeletionPolicy == v1beta1.DeleteBackup }

// path is where the backup lies, or will lie, in the store; the name of a VolumeSnapshot.
func (v View) path() string {
	switch {
	case v.isFound():
		return v.Spec.Found
	case v.isSnapshot() && v.isPutBack():
		return v.Upload
	case v.isSnapshot() && !v.IsComplete() && v.Status.Job == nil: // each attempt has another name
		return JobName(v.Name, v.UID, Backup, v.Status.Jobs+1)
	case v.Status.Path != "":
		return v.Status.Path
	case v.isPutBack():
		return v.folder(v.Upload)
	default:
		return v.folder(v.UID)
	}
}

// folder is that of an upload with this ID.
func (v View) folder(id string) string {
	return archive.Folder{Namespace: v.Namespace, Cluster: v.Spec.Cluster, ID: id}.String()
}

// isOurs says whether the Job that has the name in the status is the one that the status means.
func (v View) isOurs() bool {
	uid := v.Status.Job.UID
	return v.Job.Exists && v.Job.Owned && (uid == "" || uid == v.Job.UID)
}
