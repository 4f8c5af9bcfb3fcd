// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Backup says when a cluster is backed up, and how, where its EtcdBackups do not say it.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) || !has(self.timeZone) && !has(self.retention) && (!has(self.suspend) || !self.suspend)",message="backup.timeZone, backup.suspend and backup.retention go with backup.schedule: they are about the backups that it makes"
type Backup struct {
	// store is the name of the EtcdBackupStore in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Store string `json:"store"`

	// encryption encrypts backups, and the changes of continuous, with age.
	// +optional
	Encryption *BackupEncryption `json:"encryption,omitempty"`

	// decryption is a Secret with age identities in its key identities, by which encrypted backups are
	// verified. Without it they cannot be.
	// +optional
	Decryption *SecretReference `json:"decryption,omitempty"`

	// verify is Always (each backup is restored on trial), Daily (one a day is) or Never. Default:
	// Always while the database is below 1Gi, and Daily above.
	// +optional
	Verify VerifyPolicy `json:"verify,omitempty"`

	// schedule is when a backup is made, as that of a CronJob of Kubernetes: minute, hour, day of the month, month and day of the
	// week, such as 30 2 * * *, or @hourly, @daily, @weekly, @monthly or @yearly. Each time makes an EtcdBackup of the name
	// <cluster>-<date>-<time in UTC>. One that has not ended is not joined by another, and of the times that passed
	// while none could be made the last is made up for. Default: none is made.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ=')",message="backup.schedule must not name a time zone: backup.timeZone does"
	// +kubebuilder:validation:XValidation:rule="self.contains('TZ=') || self.matches('^@(hourly|daily|midnight|weekly|monthly|yearly|annually)$') || self.matches('^[0-9A-Za-z*/,?-]+( +[0-9A-Za-z*/,?-]+){4}$')",message="backup.schedule must have five fields, such as 30 2 * * * (minute, hour, day of the month, month, day of the week), or be @hourly, @daily, @weekly, @monthly or @yearly"
	Schedule string `json:"schedule,omitempty"`

	// timeZone is that of the schedule and of the days, weeks, months and years of retention, such as Europe/Berlin. In the hour
	// that comes twice in autumn a daily backup is made once; one whose hour the clock skips in spring is made an
	// hour later. Default UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z][-A-Za-z0-9_+/]*$') && self != 'Local'",message="backup.timeZone must be the name of a time zone, such as Europe/Berlin"
	TimeZone string `json:"timeZone,omitempty"`

	// suspend stops the schedule: no backup is made, and none is deleted. Default false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// retention says which of the backups that the schedule has made stay, and of those that were made for continuous. Default: all.
	// +optional
	Retention *Retention `json:"retention,omitempty"`

	// continuous has every change written to the store, after a full backup that the operator makes if there is none. suspend does not
	// stop it. Default: none is.
	// +optional
	Continuous *Continuous `json:"continuous,omitempty"`
}

// Retention says which of the backups that a schedule has made stay: each that one of its fields keeps. Others are deleted, with
// what is stored, one after the other. The newest verified backup always stays, as does one that is locked by its store, being
// restored or being verified, and while the newest backup is not verified none is deleted. Backups that people or the operator for
// another reason have made, that were found in a store, or that lie in a store that the cluster no longer names, are not deleted.
//
// +kubebuilder:validation:XValidation:rule="has(self.count) || has(self.age) || has(self.daily) || has(self.weekly) || has(self.monthly) || has(self.yearly)",message="backup.retention must say what to keep: count, age, daily, weekly, monthly or yearly; without backup.retention all backups stay"
type Retention struct {
	// count keeps so many of the newest backups.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Count int32 `json:"count,omitempty"`

	// age keeps the backups that are younger, such as 168h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="backup.retention.age must be at least 1h"
	Age *metav1.Duration `json:"age,omitempty"`

	// daily keeps the newest backup of each of so many of the last days that have one.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Daily int32 `json:"daily,omitempty"`

	// weekly keeps the newest backup of each of so many of the last weeks that have one. A week begins on Monday.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Weekly int32 `json:"weekly,omitempty"`

	// monthly keeps the newest backup of each of so many of the last months that have one.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Monthly int32 `json:"monthly,omitempty"`

	// yearly keeps the newest backup of each of so many of the last years that have one.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Yearly int32 `json:"yearly,omitempty"`
}

// ClusterBackups is what there is of backups of a cluster.
type ClusterBackups struct {
	// conditions are BackedUp, while there is a schedule: True if its newest backup that has ended is in the store, and nothing
	// keeps the next one from being made; and RetentionApplied, with retention: False if the store refuses to delete what retention
	// does not keep.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// last is the newest backup that is in a store, no matter what has made it.
	// +optional
	Last *BackupPoint `json:"last,omitempty"`

	// verified is the newest backup that has passed a trial.
	// +optional
	Verified *BackupPoint `json:"verified,omitempty"`

	// next is when the schedule makes the next one.
	// +optional
	Next *metav1.Time `json:"next,omitempty"`
}

// BackupPoint is a backup, and what is in it.
type BackupPoint struct {
	// name of the EtcdBackup.
	Name string `json:"name"`

	// time at which the snapshot was begun: what was written before is in it.
	Time metav1.Time `json:"time"`

	// revision of etcd's data in it.
	// +optional
	Revision int64 `json:"revision,omitempty"`
}

// AwaitedBackup is a backup that something waits for.
type AwaitedBackup struct {
	// name of the EtcdBackup.
	Name string `json:"name"`

	// before is what waits for it: a version of etcd, hibernation or deletion.
	Before string `json:"before"`

	// done is true once it is verified, or complete if it is not to be verified: what waited goes on.
	// +optional
	Done bool `json:"done,omitempty"`
}

// What waits for a backup, beside versions of etcd.
const (
	BeforeHibernation = "hibernation"
	BeforeDeletion    = "deletion"
)

// VerifyPolicy says which backups are restored on trial.
// +kubebuilder:validation:Enum=Always;Daily;Never
type VerifyPolicy string

const (
	// VerifyAlways restores each backup on trial.
	VerifyAlways VerifyPolicy = "Always"
	// VerifyDaily restores one a day.
	VerifyDaily VerifyPolicy = "Daily"
	// VerifyNever restores none.
	VerifyNever VerifyPolicy = "Never"
)

// Restore says which backup a new cluster begins with. Either backup, or store with cluster and at, is given.
//
// +kubebuilder:validation:XValidation:rule="!has(self.target) || !has(self.at)",message="bootstrap.restore.at means a full backup alone, and target what the log leads to after it: give one of them"
// +kubebuilder:validation:XValidation:rule="has(self.backup) != has(self.store)",message="bootstrap.restore names either a backup, or a store with cluster and at"
// +kubebuilder:validation:XValidation:rule="has(self.store) || !has(self.cluster) && !has(self.at)",message="bootstrap.restore.cluster and at go with store: backup names one backup already"
type Restore struct {
	// backup is the name of an EtcdBackup in the same namespace, whichever cluster it is of.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Backup string `json:"backup,omitempty"`

	// store is the name of an EtcdBackupStore in the same namespace, in which a backup is looked for.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Store string `json:"store,omitempty"`

	// cluster is the name of the cluster whose backup is looked for, as <namespace>/<name>, or
	// as <name> in this namespace. Default: the name of this one.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	Cluster string `json:"cluster,omitempty"`

	// at is latest, a revision, such as 123456, or a time, such as 2026-11-24T10:00:00Z: of a time or
	// a revision, the newest backup that is not newer is taken. Default latest.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == 'latest' || self.matches('^[0-9]{1,19}$') || self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})$')",message="bootstrap.restore.at must be latest, a revision such as 123456, or a time such as 2026-11-24T10:00:00Z"
	At string `json:"at,omitempty"`

	// target is a moment after the backup that the continuous log leads to. Default: the backup alone. With store, the newest full backup
	// of the cluster that is older than the target is taken.
	// +optional
	Target *RestoreTarget `json:"target,omitempty"`

	// decryption is a Secret with age identities in its key identities, for an encrypted backup.
	// +optional
	Decryption *SecretReference `json:"decryption,omitempty"`
}

// RestoreStatus is the restore that a cluster began with, or the last one in place. What is restored is fixed before the first
// volume is made.
type RestoreStatus struct {
	// request is the EtcdRestore that has asked for it; empty if the cluster began with it. When
	// that object is deleted before a member is stopped, the restore is cancelled; after that it goes on.
	// +optional
	Request string `json:"request,omitempty"`

	// requestUID is the UID of that EtcdRestore.
	// +optional
	RequestUID string `json:"requestUID,omitempty"`

	// undo is true while, and after, the members before that restore are brought back.
	// +optional
	Undo bool `json:"undo,omitempty"`

	// undoes is true if what is restored is a backup of what the members before that restore had, so that their data comes back above
	// all revisions that clients have seen.
	// +optional
	Undoes bool `json:"undoes,omitempty"`

	// setAside are the members that those below replace. Their volumes are kept.
	// +optional
	// +listType=atomic
	SetAside []string `json:"setAside,omitempty"`

	// keepFor is how long these volumes are kept.
	// +optional
	KeepFor *metav1.Duration `json:"keepFor,omitempty"`

	// store is the EtcdBackupStore in which the backup lies.
	// +optional
	Store string `json:"store,omitempty"`

	// path is the folder of the backup in the store.
	// +optional
	Path string `json:"path,omitempty"`

	// volumeSnapshot is what has the data instead, if the backup is one.
	// +optional
	VolumeSnapshot *VolumeSnapshotReference `json:"volumeSnapshot,omitempty"`

	// backup is the name of its EtcdBackup.
	// +optional
	Backup string `json:"backup,omitempty"`

	// manifestSHA256 is the sha256 of the backup's manifest: another one is refused.
	// +optional
	ManifestSHA256 string `json:"manifestSHA256,omitempty"`

	// verified is true if a trial had restored the backup with that manifest: its pages are not checked again, only its hashes.
	// +optional
	Verified bool `json:"verified,omitempty"`

	// revision of etcd's data that is restored: that of the backup or, with a target, the one that the log leads to.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// log is what the log adds to the backup; nil: the backup alone is restored.
	// +optional
	Log *RestoreLog `json:"log,omitempty"`

	// bump is what is added to the revision, so that no client sees a revision again that meant something else.
	// +optional
	Bump int64 `json:"bump,omitempty"`

	// fromRevision is the revision that the cluster had just before it was brought back in place; 0 if etcd could not be asked and none is
	// known.
	// +optional
	FromRevision int64 `json:"fromRevision,omitempty"`

	// keys is the number of keys in the backup, if it is known and nothing is added to it.
	// +optional
	Keys *int64 `json:"keys,omitempty"`

	// databaseSize is the size of the database in the backup, if it is known.
	// +optional
	DatabaseSize *resource.Quantity `json:"databaseSize,omitempty"`

	// time of the backup, or with a target of the last change that is restored: what was written later is not in it.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// version of etcd that the members start with; spec.version follows, as in any upgrade.
	// +optional
	Version string `json:"version,omitempty"`

	// decryption is the Secret with the identities, if the backup is encrypted.
	// +optional
	Decryption string `json:"decryption,omitempty"`

	// members are the first members, whose volumes get the data; after undo those that had it before.
	// +optional
	// +listType=atomic
	Members []string `json:"members,omitempty"`

	// progress says how far it is.
	// +optional
	Progress string `json:"progress,omitempty"`

	// problem says why it does not go on, and what to do.
	// +optional
	Problem string `json:"problem,omitempty"`

	// failure is why the last Job that failed did. It is forgotten when another Job for that member gets on.
	// +optional
	Failure *RestoreFailure `json:"failure,omitempty"`

	// restoredAt is when the volumes of all members had the data. In place, the old members are stopped from then on.
	// +optional
	RestoredAt *metav1.Time `json:"restoredAt,omitempty"`

	// completedAt is when the cluster served the data.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// RestoreFailure is why a Job failed that was to restore the data of a member.
type RestoreFailure struct {
	// member whose volume was to get the data.
	Member string `json:"member"`

	// message quotes the store, etcd or Kubernetes, and says what to do.
	Message string `json:"message"`

	// final is true if the next Job fails in the same way unless something is changed.
	// +optional
	Final bool `json:"final,omitempty"`
}
