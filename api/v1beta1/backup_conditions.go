// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Reasons of ConditionComplete of an EtcdBackup. While it is False because a Job has failed for good, the reason is that of the
// Job, one of those below; of one that is deleted before it was complete, it is ReasonDeleting; while a Job cannot be
// created, ReasonStepFailed.
const (
	// ReasonStored: the manifest is in the store, and with it all that it names.
	ReasonStored = "Stored"
	// ReasonFound: the backup lay in the store already, when the store was listed.
	ReasonFound = "Found"
	// ReasonUnproven: another program made what was found, and no etcd has been started on it yet: whether it is whole, and what is in
	// it, is not known.
	ReasonUnproven = "Unproven"
	// ReasonNotListed: the store has not been listed yet since the EtcdBackup was created for what lies in it.
	ReasonNotListed = "NotListed"
	// ReasonUnusable: what was found in the store cannot be restored; the message says why.
	ReasonUnusable = "Unusable"
	// ReasonContentGone: the whole list of the store does not have the backup any more. It can be neither restored nor verified.
	ReasonContentGone = "ContentGone"
	// ReasonBackupExists: the store has a backup of this name already, which another EtcdBackup had made.
	ReasonBackupExists = "BackupExists"
	// ReasonNoStoreNamed: neither the EtcdBackup nor its cluster names a store.
	ReasonNoStoreNamed = "NoStoreNamed"
	// ReasonStoreMissing: the EtcdBackupStore does not exist.
	ReasonStoreMissing = "StoreMissing"
	// ReasonStoreUnready: the EtcdBackupStore is not Ready; the message quotes it.
	ReasonStoreUnready = "StoreUnready"
	// ReasonClusterMissing: the EtcdCluster does not exist, or is being deleted.
	ReasonClusterMissing = "ClusterMissing"
	// ReasonClusterNotFormed: the first members have not formed the cluster yet.
	ReasonClusterNotFormed = "ClusterNotFormed"
	// ReasonClusterHibernated: spec.size of the cluster is 0, so that no member can be asked.
	ReasonClusterHibernated = "ClusterHibernated"
	// ReasonVolumeMissing: spec.volume names no volume of a member of the cluster.
	ReasonVolumeMissing = "VolumeMissing"
	// ReasonMemberRuns: the member runs whose volume is to be backed up.
	ReasonMemberRuns = "MemberRuns"
	// ReasonClusterCorrupt: etcd has raised the alarm CORRUPT: a backup could not be restored.
	ReasonClusterCorrupt = "ClusterCorrupt"
	// ReasonNoMemberAnswers: no member of the cluster answers; the message quotes the cluster.
	ReasonNoMemberAnswers = "NoMemberAnswers"
	// ReasonSnapshotsMissing: Kubernetes has no VolumeSnapshots: their CRDs are not installed.
	ReasonSnapshotsMissing = "SnapshotsMissing"
	// ReasonSnapshotPending: the VolumeSnapshot is not ready yet; the message says what is known of it.
	ReasonSnapshotPending = "SnapshotPending"
	// ReasonBackupRunning: a Job writes the backup.
	ReasonBackupRunning = "Running"
	// ReasonRetrying: the last Job has failed, and the next one begins soon; the message says why and when. It is a
	// reason of ConditionVerified, too.
	ReasonRetrying = "Retrying"
	// ReasonTooLate: the schedule wanted it, and 6 hours were not enough. It is a reason of
	// ConditionVerified, too.
	ReasonTooLate = "TooLate"
)

// Reasons of ConditionVerified of an EtcdBackup.
const (
	// ReasonTrialPassed: an etcd of its version served it, with the same hash, revision and number of keys.
	ReasonTrialPassed = "TrialPassed"
	// ReasonNotComplete: there is nothing to verify yet.
	ReasonNotComplete = "NotComplete"
	// ReasonNotWanted: no verification was requested. The annotation etcd-operator.dev/verify asks for one.
	ReasonNotWanted = "NotWanted"
	// ReasonVerificationPending: a trial is about to begin, or runs.
	ReasonVerificationPending = "VerificationPending"
	// ReasonEncrypted: the backup is encrypted, and no identity is named that decrypts it.
	ReasonEncrypted = "Encrypted"
)

// Reasons of ConditionBackedUp. While no backup can be made, it is one of those of ConditionComplete: ReasonStoreMissing,
// ReasonStoreUnready, ReasonClusterNotFormed, ReasonClusterHibernated or ReasonStepFailed.
const (
	// ReasonBackedUp: the newest backup of the schedule that has ended is in the store.
	ReasonBackedUp = "BackedUp"
	// ReasonNoneYet: the schedule has made none yet; the message says when it does.
	ReasonNoneYet = "NoneYet"
	// ReasonLastFailed: the newest backup of the schedule has failed; the message says why.
	ReasonLastFailed = "LastFailed"
	// ReasonUnverified: the newest backup of the schedule that was to be verified is not good, or could not be verified.
	ReasonUnverified = "Unverified"
	// ReasonSuspended: spec.backup.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonScheduleUnclear: schedule or timeZone cannot be read; the message says why.
	ReasonScheduleUnclear = "ScheduleUnclear"
)

// Reasons of ConditionRetentionApplied; ReasonAppendOnly if the store deletes nothing.
const (
	// ReasonRetentionApplied: the store deletes what retention does not keep.
	ReasonRetentionApplied = "RetentionApplied"
	// ReasonDeletionRefused: the store refuses to delete some; the message quotes it.
	ReasonDeletionRefused = "DeletionRefused"
)

// Reasons of ConditionLogCurrent. While the log cannot be kept, it may be ReasonStoreMissing, ReasonStoreUnready, ReasonClusterNotFormed,
// ReasonClusterHibernated, ReasonRestoring, ReasonStepFailed or ReasonPaused, too.
const (
	// ReasonLogCurrent: every change is in the store a moment after it was made.
	ReasonLogCurrent = "Current"
	// ReasonLogStarting: the process that keeps the log is about to start, or has not said yet how far it is.
	ReasonLogStarting = "Starting"
	// ReasonLogNotRunning: the Pod that keeps the log does not run; the message quotes Kubernetes.
	ReasonLogNotRunning = "NotRunning"
	// ReasonLogBehind: the log has not moved for a while; the message says why, if that is known. It goes on by itself.
	ReasonLogBehind = "Behind"
	// ReasonLogInterrupted: what followed was compacted before it was read, or the cluster has another history: there is a gap, which ends
	// with a full backup that is being made.
	ReasonLogInterrupted = "Interrupted"
	// ReasonFullBackupPending: a full backup is being made, after which the log begins.
	ReasonFullBackupPending = "FullBackupPending"
	// ReasonLogRetrying: the log could not be continued, and is tried again; the message says why and when.
	ReasonLogRetrying = ReasonRetrying
	// ReasonVersionUnsupported: the watches of this release of etcd may leave something out.
	ReasonVersionUnsupported = "VersionUnsupported"
	// ReasonJobForeign: another object has a Job of the name that the one of the log would have.
	ReasonJobForeign = "JobForeign"
)

// Reasons that Jobs give. Different and Corrupt make ConditionVerified False; after any other the
// condition is Unknown, because it proves nothing about the backup.
const (
	// ReasonJobStoreFailed: the store; the message says how.
	ReasonJobStoreFailed = "StoreFailed"
	// ReasonJobMemberFailed: no member could be asked, or the snapshot broke off.
	ReasonJobMemberFailed = "MemberFailed"
	// ReasonJobCorrupt: what lies in the store is not what was written.
	ReasonJobCorrupt = "Corrupt"
	// ReasonJobDifferent: the etcd of the trial has other data than the manifest says.
	ReasonJobDifferent = "Different"
	// ReasonJobWrongKey: no identity decrypts the backup.
	ReasonJobWrongKey = "WrongKey"
	// ReasonJobNoRoom: there is too little room for the trial.
	ReasonJobNoRoom = "NoRoom"
	// ReasonJobWrongVersion: the database needs a newer etcd.
	ReasonJobWrongVersion = "WrongVersion"
	// ReasonJobNewerFormat: a newer operator wrote the backup.
	ReasonJobNewerFormat = "NewerFormat"
	// ReasonJobStoreLocked: the store keeps it for some time, and refuses every deletion.
	ReasonJobStoreLocked = "StoreLocked"
	// ReasonJobAuthEnabled: etcd answers its users only.
	ReasonJobAuthEnabled = "AuthEnabled"
	// ReasonJobUnsupportedJobSpec: the Job runs another version of the operator.
	ReasonJobUnsupportedJobSpec = "UnsupportedJobSpec"
	// ReasonJobInternalFailure: what no other word fits.
	ReasonJobInternalFailure = "InternalFailure"
	// ReasonJobSnapshotFailed: the VolumeSnapshot has failed, or nobody has taken it; the message quotes it.
	ReasonJobSnapshotFailed = "SnapshotFailed"
	// ReasonJobEnded: the Job ended, or went, without saying why; the message says what Kubernetes knows.
	ReasonJobEnded = "JobEnded"
)
