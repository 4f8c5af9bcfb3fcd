// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// EtcdRestore brings an EtcdCluster that exists back to a backup, in place: its Services, certificates and Secrets stay.
//
// Nothing is changed before spec.confirm is what status.preview.confirm says. Then a safety backup is made, and volumes for as
// many members as spec.size of the cluster are filled with the data while the old members run on. Only when all of
// them have it, and new members serve with it beside the old ones or cannot, these are stopped. Their volumes are set aside, and
// spec.undo brings them back until status.undoUntil.
//
// Deleting the object before a member is stopped cancels the restore. After that it goes on, and can
// no longer be undone.
//
// With spec.prefix only the keys below that are restored, by transactions of the members that serve: no volume is made, no member is
// stopped, revisions go on, and clients that watch see the changes.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdrestores,singular=etcdrestore,shortName=er,categories=etcd
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Backup",type=string,JSONPath=`.status.preview.backup`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.preview.revision`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Confirm",type=string,JSONPath=`.status.preview.confirm`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +operator-sdk:csv:customresourcedefinitions:displayName="etcd Restore",resources={{Job,v1},{Pod,v1},{PersistentVolumeClaim,v1},{Event,v1}},order=4
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 56",message="metadata.name must have at most 56 characters: with -safety it is the name of the safety backup"
type EtcdRestore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which cluster is brought back to which backup. Only confirm, skipSafetyBackup, decryption, undo
	// and keepFor can be changed.
	// +required
	Spec EtcdRestoreSpec `json:"spec"`

	// status is what the restore would do, and how far it is.
	// +optional
	Status EtcdRestoreStatus `json:"status,omitzero"`
}

// EtcdRestoreList is a list of EtcdRestores.
//
// +kubebuilder:object:root=true
type EtcdRestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdRestore `json:"items"`
}

// EtcdRestoreSpec says which cluster, or which prefix of its keys, is brought back to which backup. Either backup, or store with from, is
// given.
//
// +kubebuilder:validation:XValidation:rule="has(self.backup) != has(self.store)",message="an EtcdRestore names either a backup, or a store with from"
// +kubebuilder:validation:XValidation:rule="has(self.store) || !has(self.from)",message="from goes with store: backup names one backup already"
// +kubebuilder:validation:XValidation:rule="self.cluster == oldSelf.cluster && has(self.backup) == has(oldSelf.backup) && (!has(self.backup) || self.backup == oldSelf.backup) && has(self.store) == has(oldSelf.store) && (!has(self.store) || self.store == oldSelf.store) && has(self.from) == has(oldSelf.from) && (!has(self.from) || self.from == oldSelf.from)",message="cluster, backup, store and from cannot be changed: create another EtcdRestore"
// +kubebuilder:validation:XValidation:rule="!has(self.target) || !has(self.from) || !has(self.from.at)",message="from.at means a full backup alone, and target what the log leads to after it: give one of them"
// +kubebuilder:validation:XValidation:rule="has(self.target) == has(oldSelf.target) && (!has(self.target) || self.target == oldSelf.target)",message="target cannot be changed: create another EtcdRestore"
// +kubebuilder:validation:XValidation:rule="has(self.prefix) == has(oldSelf.prefix) && (!has(self.prefix) || self.prefix == oldSelf.prefix)",message="prefix cannot be changed: create another EtcdRestore"
// +kubebuilder:validation:XValidation:rule="!has(self.prefix) || !has(self.keepFor) && !(has(self.undoKeepRevisions) && self.undoKeepRevisions)",message="keepFor and undoKeepRevisions are about volumes, and with prefix none is made: leave them out"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.undo) || !oldSelf.undo || has(self.undo) && self.undo",message="undo cannot be taken back: create another EtcdRestore to restore again"
type EtcdRestoreSpec struct {
	// cluster is the name of the EtcdCluster in the same namespace that is brought back.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Cluster",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=1
	Cluster string `json:"cluster"`

	// backup is the name of an EtcdBackup in the same namespace, whichever cluster it is of.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Backup",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	Backup string `json:"backup,omitempty"`

	// store is the name of an EtcdBackupStore in the same namespace, in which a backup is looked for.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Store",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Store string `json:"store,omitempty"`

	// from says which backup in the store is meant. Default: the newest one of this cluster.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="From",order=4
	From *RestoreFrom `json:"from,omitempty"`

	// target is a moment after the backup that the continuous log leads to. Default: the backup alone. With store, the newest full backup
	// of the cluster that is older than the target is taken. The preview says which revision was found for it, and that one is restored.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Target",order=11
	Target *RestoreTarget `json:"target,omitempty"`

	// prefix restores only the keys that begin with it, such as /registry/configmaps/shop/. Members go on to serve, and keys get new
	// revisions; they get no lease. status.preview.changes says how many keys would be created, updated and deleted. Keys that are
	// changed by others after the preview are left as they are, and counted in status.changes.skipped. Undo needs the safety backup, which
	// is written to the store of the backup that is restored. Default: all keys.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Prefix",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=12
	Prefix string `json:"prefix,omitempty"`

	// confirm is the value of status.preview.confirm: the restore begins when both are the same. A confirmation counts for the preview that
	// it was given for: within ten minutes after status.preview.madeAt, or for as long as the cluster has the revision of the preview. Later
	// the preview is made again, and has another value.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Confirm",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	Confirm string `json:"confirm,omitempty"`

	// skipSafetyBackup restores without a backup of what the cluster has now. It is needed if none can be made, because
	// no member answers or there is no store to write to. The volumes of the old members are kept either way. Default false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Skip the Safety Backup",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"},order=6
	SkipSafetyBackup bool `json:"skipSafetyBackup,omitempty"`

	// decryption is a Secret with age identities in its key identities, for an encrypted backup.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Decryption",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=7
	Decryption *SecretReference `json:"decryption,omitempty"`

	// undo stops the restore, or brings back the data of the old members, until status.undoUntil: it is backed up from their volumes, and
	// restored to new ones, while the cluster serves on. So no revision comes twice, and clients that watch have to list again. What was
	// written since the restore is set aside with the volumes of its members. It cannot be undone.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Undo",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"},order=8
	Undo bool `json:"undo,omitempty"`

	// undoKeepRevisions has undo bring the old members back with their own volumes, at once and without a store. Revisions go back to what
	// they were, and come again with another meaning: every client that watches or caches, such as a kube-apiserver, must be restarted, or
	// goes on to serve what is no longer there. It counts until the undo has begun to fill new volumes. Default false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Undo Keeps Revisions",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"},order=10
	UndoKeepRevisions bool `json:"undoKeepRevisions,omitempty"`

	// keepFor is how long volumes are kept that the restore, or its undo, sets aside. It counts when the restore begins.
	// Default 168h, a week.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10m')",message="keepFor must be 10m or more"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Keep For",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=9
	KeepFor *metav1.Duration `json:"keepFor,omitempty"`
}

// IsPartial says whether only the keys below a prefix are restored.
func (s EtcdRestoreSpec) IsPartial() bool { return s.Prefix != "" }

// Keep is how long volumes are kept that the restore sets aside.
func (s EtcdRestoreSpec) Keep() time.Duration {
	return ptr.Deref(s.KeepFor, metav1.Duration{Duration: DefaultQuarantine}).Duration
}

// RestoreFrom says which backup in a store is meant.
type RestoreFrom struct {
	// cluster is the name of the cluster whose backup is looked for, as <namespace>/<name>, or as <name> in this
	// namespace. Default: the one that is brought back.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	Cluster string `json:"cluster,omitempty"`

	// at is latest, a revision, such as 123456, or a time, such as 2026-11-24T10:00:00Z: of a time or
	// a revision, the newest backup that is not newer is taken. Default latest.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == 'latest' || self.matches('^[0-9]{1,19}$') || self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})$')",message="from.at must be latest, a revision such as 123456, or a time such as 2026-11-24T10:00:00Z"
	At string `json:"at,omitempty"`
}

// RestorePhase is how far an EtcdRestore is, for people.
// +kubebuilder:validation:Enum=Pending;Previewed;BackingUp;Restoring;Complete;Undoing;Undone
type RestorePhase string

const (
	// RestorePending has no preview yet: the message says why.
	RestorePending RestorePhase = "Pending"
	// RestorePreviewed waits to be confirmed, or for what must end first.
	RestorePreviewed RestorePhase = "Previewed"
	// RestoreBackingUp waits for the safety backup.
	RestoreBackingUp RestorePhase = "BackingUp"
	// RestoreRunning fills volumes, or exchanges the members.
	RestoreRunning RestorePhase = "Restoring"
	// RestoreComplete: the cluster serves the data of the backup.
	RestoreComplete RestorePhase = "Complete"
	// RestoreUndoing brings the old members back.
	RestoreUndoing RestorePhase = "Undoing"
	// RestoreUndone: the cluster serves the data that it had before, or nothing was begun.
	RestoreUndone RestorePhase = "Undone"
)

// EtcdRestoreStatus is what a restore would do, and how far it is.
type EtcdRestoreStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed Generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Previewed, Complete and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=2
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// phase is how far the restore is, for people.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Phase",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Phase RestorePhase `json:"phase,omitempty"`

	// message says what happens next, or what to do.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Message",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Message string `json:"message,omitempty"`

	// preview is what the restore would do. It is made again while it is not confirmed, and does not change
	// once the restore has begun.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Preview",order=5
	Preview *RestorePreview `json:"preview,omitempty"`

	// fromRevision is the revision that the cluster had when the restore began. While volumes are filled it goes on.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="From Revision",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=9
	FromRevision int64 `json:"fromRevision,omitempty"`

	// safetyBackup is the EtcdBackup of what the cluster had before.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Safety Backup",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	SafetyBackup string `json:"safetyBackup,omitempty"`

	// changes are what a restore of a prefix has done, or its undo.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Changes",order=10
	Changes *KeyChanges `json:"changes,omitempty"`

	// setAside are the members whose volumes are kept: those of the old members or, after undo, those that the
	// restore has made. A volume has the name of its member.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Set Aside",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=7
	SetAside []string `json:"setAside,omitempty"`

	// undoUntil is until when spec.undo brings the old members back: their volumes are deleted later.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Undo Until",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=8
	UndoUntil *metav1.Time `json:"undoUntil,omitempty"`
}

// KeyChanges are keys below the prefix of a restore that are not as they were at the moment that is restored.
type KeyChanges struct {
	// revision of etcd's data: the one that was compared or, of what was done, the one after the last change.
	Revision int64 `json:"revision"`

	// created is how many keys come back that were deleted.
	Created int64 `json:"created"`

	// updated is how many keys get another value.
	Updated int64 `json:"updated"`

	// deleted is how many keys are deleted that did not exist then.
	Deleted int64 `json:"deleted"`

	// unchanged is how many keys are as they were. It is of the preview.
	// +optional
	Unchanged *int64 `json:"unchanged,omitempty"`

	// leased is how many of created and updated had a lease then: they come back without one, and stay until they are deleted. It is of
	// the preview.
	// +optional
	Leased int64 `json:"leased,omitempty"`

	// skipped is how many keys were left as they are, because they were changed by others after the preview or, when it is undone, after
	// the restore. It is of what was done.
	// +optional
	Skipped int64 `json:"skipped,omitempty"`

	// examples are the first of these keys, such as "create /a", ten at most. Of what was done they are those that were skipped.
	// +optional
	// +listType=atomic
	Examples []string `json:"examples,omitempty"`

	// digest is the sha256 of all these keys and of the revisions that they have: only what the preview has compared is changed.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// RestorePreview is what a restore would do.
type RestorePreview struct {
	// backup is the EtcdBackup that would be restored.
	Backup string `json:"backup"`

	// revision of etcd's data that would be restored: that of the backup or, with a target, the one that the log leads to.
	Revision int64 `json:"revision"`

	// time of the backup, or with a target of the last change that would be restored: what was written later would be lost.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// log is what the log adds to the backup, and the first change that is left out; nil: the backup alone would be restored.
	// +optional
	Log *RestoreLog `json:"log,omitempty"`

	// changes are what a restore of a prefix would do, compared with the keys that the cluster had at fromRevision; nil: all keys would be
	// restored.
	// +optional
	Changes *KeyChanges `json:"changes,omitempty"`

	// keys is the number of keys in the backup, if it is known and nothing is added to it.
	// +optional
	Keys *int64 `json:"keys,omitempty"`

	// fromRevision is the revision that the cluster had when the preview was made, as etcd itself said. If etcd could not be asked it is
	// the highest one that was known, and message says so; 0 if none is known.
	// +optional
	FromRevision int64 `json:"fromRevision,omitempty"`

	// lostRevisions is how many revisions the cluster has more than what would be restored. It is missing if the backup is
	// of another cluster, or of this one before an earlier restore: revisions cannot be compared then.
	// +optional
	LostRevisions *int64 `json:"lostRevisions,omitempty"`

	// message says why etcd could not be asked for fromRevision, so that more may be lost than the preview says, and that the snapshot of
	// another program has no sha256 of etcd's; empty if neither is so.
	// +optional
	Message string `json:"message,omitempty"`

	// lastVerificationDuration is how long the newest trial of a backup of the same cluster took: a restore takes about as long.
	// +optional
	LastVerificationDuration *metav1.Duration `json:"lastVerificationDuration,omitempty"`

	// lastDrill is what lastVerificationDuration was called up to 0.7.
	//
	// Deprecated: it is only read.
	// +optional
	LastDrill *metav1.Duration `json:"lastDrill,omitempty"`

	// confirm is what spec.confirm must be for the restore to begin: <cluster>@<revision lost from>-><revision restored>. A question
	// mark after the first revision means that etcd could not be asked for it. With a prefix it ends with / and the beginning of
	// changes.digest.
	Confirm string `json:"confirm"`

	// manifestSHA256 is the sha256 of the backup's manifest.
	// +optional
	ManifestSHA256 string `json:"manifestSHA256,omitempty"`

	// clusterID is etcd's ID of the cluster when the preview was made.
	// +optional
	ClusterID string `json:"clusterID,omitempty"`

	// madeAt is when the preview was made.
	MadeAt metav1.Time `json:"madeAt"`
}

// Reasons of ConditionPreviewed and ConditionComplete of an EtcdRestore, beside ReasonPaused, ReasonRefused,
// ReasonRestoring and ReasonRestoreFailing.
const (
	// ReasonPreviewMade: the preview says what would be done.
	ReasonPreviewMade = "PreviewMade"
	// ReasonSearching: a Job looks for the target of the restore in the log.
	ReasonSearching = "Searching"
	// ReasonComparing: a Job compares the keys below the prefix with those of the cluster.
	ReasonComparing = "Comparing"
	// ReasonUnconfirmed: spec.confirm is not what the preview says.
	ReasonUnconfirmed = "Unconfirmed"
	// ReasonOtherRestore: another EtcdRestore of the same cluster comes first.
	ReasonOtherRestore = "OtherRestore"
	// ReasonSafetyBackup: the safety backup is not there yet, or cannot be made.
	ReasonSafetyBackup = "SafetyBackup"
	// ReasonRestored: the cluster serves the data.
	ReasonRestored = "Restored"
	// ReasonUndoing: the old members are being brought back.
	ReasonUndoing = "Undoing"
	// ReasonUndone: the old members are back, or nothing was begun.
	ReasonUndone = "Undone"
	// ReasonReplaced: another restore has begun since, and this one can no longer be undone.
	ReasonReplaced = "Replaced"
)
