// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Labels and annotations of backups and their Jobs.
const (
	// LabelBackup holds, on a Job and its Pod, the name of the EtcdBackup that it is for.
	LabelBackup = "etcd-operator.dev/backup"
	// LabelStore holds, on a Job, its Pod and an EtcdBackup, the name of the EtcdBackupStore.
	LabelStore = "etcd-operator.dev/store"
	// LabelDrill holds, on the Job of a drill and its Pod, the name of the EtcdDrill.
	LabelDrill = "etcd-operator.dev/drill"
	// FinalizerDrill is on an EtcdDrill with which an earlier version has isolated a member. It is removed with its NetworkPolicy.
	FinalizerDrill = "etcd-operator.dev/drill"
	// LabelTask holds, on a Job and its Pod, what it does: check, backup, verify, restore, delete, write, follow,
	// locate, search or state.
	LabelTask = "etcd-operator.dev/task"
	// LabelLogs holds, on the Job that keeps the log of a cluster and on its Pod, the name of the EtcdCluster. It is another label than that
	// of members, for which Services and the operator would take the Pod.
	LabelLogs = "etcd-operator.dev/logs"
	// LabelScheduled marks an EtcdBackup that the schedule of a cluster has made, or that its log begins after: retention is about these.
	LabelScheduled = "etcd-operator.dev/scheduled"
	// AnnotationScheduledFor holds, on such an EtcdBackup, for when it was due (RFC 3339).
	AnnotationScheduledFor = "etcd-operator.dev/scheduled-for"
	// LabelAwaited marks an EtcdBackup that something waits for: a change of etcd's minor version, hibernation or deletion.
	LabelAwaited = "etcd-operator.dev/awaited"
	// AnnotationClusterUID holds, on an EtcdBackup or EtcdRestore that the operator has made, the UID of the EtcdCluster: another one may
	// have its name later.
	AnnotationClusterUID = "etcd-operator.dev/cluster-uid"
	// AnnotationReason holds, on an EtcdBackup or EtcdRestore that the operator has made, why.
	AnnotationReason = "etcd-operator.dev/reason"
	// AnnotationRestore holds, on the safety backup of a restore, the UID of its EtcdRestore.
	AnnotationRestore = "etcd-operator.dev/restore"
	// AnnotationPreview holds, on the safety backup of a restore, when the preview was made that was confirmed.
	AnnotationPreview = "etcd-operator.dev/preview"
	// AnnotationAccepted holds, on an EtcdRestore that the operator has made, the loss of data that was accepted by the name of its
	// backup, as spec.recovery.acceptDataLoss of the EtcdCluster says it. That confirms the restore for as long as the spec says so and
	// quorum is lost for good.
	AnnotationAccepted = "etcd-operator.dev/accepted"
	// AnnotationVerifyOnce asks for another trial of a backup that is complete, whenever its value
	// changes to another one that is not empty. Users set it. status.trial.request is the value that was followed.
	AnnotationVerifyOnce = "etcd-operator.dev/verify"
	// AnnotationCheck asks to look at a store, or at the Secrets of an EtcdCluster or EtcdUser, at once, whenever its value changes. Users
	// set it.
	AnnotationCheck = "etcd-operator.dev/check"
	// AnnotationFound holds, on an EtcdBackup with spec.found, what the list of the store says of it, as
	// JSON. The reconciler of the store writes it, and the reconciler of the EtcdBackup copies it into the status.
	AnnotationFound = "etcd-operator.dev/found"
	// AnnotationGone holds, on an EtcdBackup that was made, why what it stands for is not in its store any more. The reconciler of
	// the store writes it, and removes it when the backup is there again.
	AnnotationGone = "etcd-operator.dev/gone"
	// AnnotationUpload holds, on an EtcdBackup that was made, the name of its folder in the store: the UID that the object had
	// then. A backup tool puts the object back with another UID: by this it stands for the same backup again.
	AnnotationUpload = "etcd-operator.dev/upload"
	// AnnotationBackupUID holds, on a VolumeSnapshot, the UID of the EtcdBackup that it was taken for.
	AnnotationBackupUID = "etcd-operator.dev/backup-uid"
	// AnnotationRevision holds, on a VolumeSnapshot, the revision that its member had just before, which it has at least.
	AnnotationRevision = "etcd-operator.dev/revision"
	// AnnotationRecoveries holds, on a VolumeSnapshot, status.recoveries of its EtcdCluster at that time.
	AnnotationRecoveries = "etcd-operator.dev/recoveries"
	// AnnotationObservedAt holds, on a VolumeSnapshot, when its member had that revision (RFC 3339): what was written before is in it.
	AnnotationObservedAt = "etcd-operator.dev/observed-at"
	// AnnotationDatabaseSize holds, on a VolumeSnapshot, the size in bytes that the database of its member had just before.
	AnnotationDatabaseSize = "etcd-operator.dev/database-size"
	// AnnotationStorageClass holds, on a VolumeSnapshot, the StorageClass of the volume that it is of, and AnnotationVolumeSize its size.
	AnnotationStorageClass = "etcd-operator.dev/storage-class"
	AnnotationVolumeSize   = "etcd-operator.dev/volume-size"
	// AnnotationAsked holds, on a Job, what it was created for: of which spec and which keys of a store its answer is, or the UID of the
	// volume that it fills.
	AnnotationAsked = "etcd-operator.dev/asked"
	// FinalizerBackup is on an EtcdBackup whose deletion removes it from its store.
	FinalizerBackup = "etcd-operator.dev/backup"
	// FinalizerLastBackup is on an EtcdCluster with deletionPolicy Backup: it stays until its last backup is verified.
	FinalizerLastBackup = "etcd-operator.dev/last-backup"
)

// BackupServiceAccount is the ServiceAccount of Jobs where an EtcdBackupStore names none. It has no right at all.
const BackupServiceAccount = "etcd-operator-backup"

// Keys of the Secrets that users give.
const (
	// KeyIdentities holds age identities, as age-keygen prints them.
	KeyIdentities = "identities"
	// KeyAccessKeyID, KeySecretAccessKey and KeySessionToken are of S3.
	KeyAccessKeyID     = "accessKeyID"
	KeySecretAccessKey = "secretAccessKey"
	KeySessionToken    = "sessionToken"
	// KeyCredentialsJSON is of Google Cloud Storage.
	KeyCredentialsJSON = "credentials.json"
	// KeyAccountKey and KeySASToken are of Azure Blob Storage.
	KeyAccountKey = "accountKey"
	KeySASToken   = "sasToken"
)

// Condition types of backups and their stores.
const (
	// ConditionReady is of every kind: True where what the spec wants is there, which is what kubectl wait, Flux and Argo CD look at, by
	// way of kstatus. Of an EtcdCluster: the members that are wanted are healthy and run as the spec says, or it hibernates; the reason is
	// that of the condition which says so, or says why not. Of an EtcdBackupStore: it can be reached, listed, written and read. Of an
	// EtcdBackup: it is Complete, and Verified if that is wanted. Of an EtcdRestore: the cluster serves the data. Of an EtcdUser and
	// EtcdRole: etcd has them as the spec says.
	ConditionReady = "Ready"
	// ConditionComplete of an EtcdBackup: its manifest is in the store. Of an EtcdRestore: the cluster serves the data.
	ConditionComplete = "Complete"
	// ConditionVerified of an EtcdBackup: an etcd of its version has served it, with the same hash,
	// revision and number of keys.
	ConditionVerified = "Verified"
	// ConditionPreviewed of an EtcdRestore: its status says what it would do.
	ConditionPreviewed = "Previewed"
	// ConditionBackedUp of status.backup of an EtcdCluster.
	ConditionBackedUp = "BackedUp"
	// ConditionRetentionApplied of status.backup of an EtcdCluster with spec.backup.retention.
	ConditionRetentionApplied = "RetentionApplied"
	// ConditionLogCurrent of status.log of an EtcdCluster with spec.backup.continuous.
	ConditionLogCurrent = "LogCurrent"
)
