// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackupPhase is how far a backup is, for people.
// +kubebuilder:validation:Enum=Pending;Running;Verifying;Complete;Failed;Deleting
type BackupPhase string

const (
	// BackupPending waits for its store or its cluster or, if another program made it, for a trial.
	BackupPending BackupPhase = "Pending"
	// BackupRunning is being written.
	BackupRunning BackupPhase = "Running"
	// BackupVerifying is being restored on trial.
	BackupVerifying BackupPhase = "Verifying"
	// BackupComplete is in the store.
	BackupComplete BackupPhase = "Complete"
	// BackupFailed could not be written, or is not in its store any more, and is not tried again.
	BackupFailed BackupPhase = "Failed"
	// BackupDeleting is being removed from the store.
	BackupDeleting BackupPhase = "Deleting"
)

// EtcdBackupStatus is how far a backup is, and what is in it.
type EtcdBackupStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed Generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Complete, Verified and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=2
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase is how far the backup is, for people.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Phase",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Phase BackupPhase `json:"phase,omitempty"`

	// cluster is the name of the EtcdCluster that was backed up.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Cluster",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Cluster string `json:"cluster,omitempty"`

	// clusterUID is the UID of that EtcdCluster; empty if the backup is of another program.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Cluster UID",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	ClusterUID string `json:"clusterUID,omitempty"`

	// store is the EtcdBackupStore that it is in.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Store",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	Store string `json:"store,omitempty"`

	// path is the folder in the store, or the object if another program made the backup; of a VolumeSnapshot its name.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Path",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=7
	Path string `json:"path,omitempty"`

	// program that made the backup, if it is another one: etcdctl, coreos/etcd-operator or
	// gardener/etcd-backup-restore.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Program",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=8
	Program string `json:"program,omitempty"`

	// progress is how far the Job is that runs.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Progress",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=9
	Progress *BackupProgress `json:"progress,omitempty"`

	// volumeSnapshot is the VolumeSnapshot that has the data, once it is ready, if spec.volumeSnapshot asks for one.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Volume Snapshot",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=33
	VolumeSnapshot *VolumeSnapshotReference `json:"volumeSnapshot,omitempty"`

	// job is the Job that runs for this backup, or the VolumeSnapshot that is being taken.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Job",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=10
	Job *JobReference `json:"job,omitempty"`

	// jobs is how many Jobs, and VolumeSnapshots, were made for this backup. The number is in the name of each, so that no
	// two have the same.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Jobs",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=11
	Jobs int64 `json:"jobs,omitempty"`

	// attempts is how many Jobs have tried to write the backup, to verify it or to delete it, since it
	// last went on.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Attempts",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=12
	Attempts int32 `json:"attempts,omitempty"`

	// failure is why the last of these Jobs failed; empty once one has succeeded.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Failure",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=13
	Failure *BackupFailure `json:"failure,omitempty"`

	// retryAt is when the next Job begins, after one that failed: 30s later, then 1m, 2m, 4m, 8m, and
	// from then on 10m.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Retry At",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=14
	RetryAt *metav1.Time `json:"retryAt,omitempty"`

	// revision of etcd's data in the backup. A VolumeSnapshot has at least this one until a trial has shown which.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Revision",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=15
	Revision int64 `json:"revision,omitempty"`

	// recoveries is how often the cluster had gone on without acknowledged writes when the backup was made, as status.recoveries of the
	// EtcdCluster has it. Of one cluster ID a backup with a higher number is newer, whatever its revision is. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Recoveries",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=190
	Recoveries int64 `json:"recoveries,omitempty"`

	// compactRevision is the revision up to which there is no history; 0 if there is all of it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Compact Revision",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=16
	CompactRevision int64 `json:"compactRevision,omitempty"`

	// keys is the number of keys at that revision.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Keys",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=17
	Keys *int64 `json:"keys,omitempty"`

	// databaseSize is the size of etcd's database, rounded up to whole Ki, from 10Mi on to whole Mi, and
	// from 10Gi on to whole Gi, as all sizes here are.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Database Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=18
	DatabaseSize *resource.Quantity `json:"databaseSize,omitempty"`

	// storedSize is what the backup takes in the store; of a VolumeSnapshot what a volume needs that is made of it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Stored Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=19
	StoredSize *resource.Quantity `json:"storedSize,omitempty"`

	// manifestSHA256 is the sha256 of the manifest, by which everything else in the store is checked. Of a backup that another
	// program made it is the sha256 of the database that was verified.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="sha256 of the Manifest",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=20
	ManifestSHA256 string `json:"manifestSHA256,omitempty"`

	// etcdVersion is the version of the member that sent the snapshot.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Etcd Version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=21
	EtcdVersion string `json:"etcdVersion,omitempty"`

	// clusterID is etcd's ID of the cluster, in hexadecimal.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Cluster ID",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=22
	ClusterID string `json:"clusterID,omitempty"`

	// source is the member that sent the snapshot, or whose volume it is of.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Source",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=23
	Source string `json:"source,omitempty"`

	// encrypted is true if the backup can be read with an identity of age only.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Encrypted",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=24
	Encrypted bool `json:"encrypted,omitempty"`

	// reason why the backup was made, such as schedule.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Reason",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=25
	Reason string `json:"reason,omitempty"`

	// startedAt is when the snapshot was begun: what was written before is in the backup.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Started At",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=26
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// finishedAt is when the manifest was written.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Finished At",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=27
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`

	// trial says whether the backup is still to be restored on trial.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Trial",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=28
	Trial *BackupTrial `json:"trial,omitempty"`

	// verified is the last trial that the backup passed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Verified",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=29
	Verified *Verification `json:"verified,omitempty"`

	// lockedUntil is until when the store refuses to delete it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Locked Until",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=30
	LockedUntil *metav1.Time `json:"lockedUntil,omitempty"`

	// log is how far the log of the member goes of whose volume the backup is. Of backups of the volumes of a majority, the one with the
	// highest term, and of these the one with the highest index, has every write that the cluster has acknowledged.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Log",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=31
	Log *LogPosition `json:"log,omitempty"`

	// noHash is true of a snapshot of another program that does not end with etcd's sha256, as a copy of a file in a data directory:
	// an etcd may serve it although it is a part of what an etcd had.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="No Hash",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=32
	NoHash bool `json:"noHash,omitempty"`
}

// LogPosition is that of an entry in etcd's raft log.
type LogPosition struct {
	// term in which the entry was proposed.
	Term int64 `json:"term"`
	// index of the entry.
	Index int64 `json:"index"`
}

// JobReference is a Job that runs for an object.
type JobReference struct {
	// name of the Job.
	Name string `json:"name"`

	// uid of the Job; empty until it was seen.
	// +optional
	UID string `json:"uid,omitempty"`

	// task is what it does: Backup, Verify or Delete.
	Task string `json:"task"`

	// ended is true once what the Job said is in this status. The Job is deleted then, and not before.
	// +optional
	Ended bool `json:"ended,omitempty"`
}

// BackupFailure is why the last Job for a backup failed, or why none is begun.
type BackupFailure struct {
	// task is what was tried: Backup, Verify or Delete.
	Task string `json:"task"`

	// reason is one word, such as StoreFailed.
	Reason string `json:"reason"`

	// message quotes the store, etcd or Kubernetes, and says what to do.
	// +optional
	Message string `json:"message,omitempty"`

	// final is true if it is not tried again.
	// +optional
	Final bool `json:"final,omitempty"`
}

// BackupTrial says whether a backup is still to be restored on trial.
type BackupTrial struct {
	// wanted is true until a trial has shown whether the backup can be restored, or that this
	// cannot be shown.
	// +optional
	Wanted bool `json:"wanted,omitempty"`

	// request is the value of the annotation etcd-operator.dev/verify that was last followed.
	// +optional
	Request string `json:"request,omitempty"`

	// reason is Different or Corrupt if the last trial that proved something showed that the backup
	// is not good.
	// +optional
	Reason string `json:"reason,omitempty"`

	// message says what that trial found.
	// +optional
	Message string `json:"message,omitempty"`
}

// BackupProgress is how far a Job is.
type BackupProgress struct {
	// read is how much of the database has been read.
	// +optional
	Read *resource.Quantity `json:"read,omitempty"`

	// total is the size of the database.
	// +optional
	Total *resource.Quantity `json:"total,omitempty"`

	// percent of it.
	// +optional
	Percent int32 `json:"percent,omitempty"`

	// rate in bytes a second.
	// +optional
	Rate *resource.Quantity `json:"rate,omitempty"`

	// message says what is done now and what comes next.
	// +optional
	Message string `json:"message,omitempty"`
}

// Verification is a trial that a backup has passed.
type Verification struct {
	// at is when it passed.
	At metav1.Time `json:"at"`

	// took is how long the trial took, from reading the store to the answers of etcd.
	Took metav1.Duration `json:"took"`
}
