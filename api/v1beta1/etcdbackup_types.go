// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdBackup is one backup of an EtcdCluster: one that is to be made, or one that was
// found in a store. Deleting it leaves what is stored in place unless deletionPolicy is Delete.
//
// A backup whose store or members fail is tried again, with pauses of up to 10 minutes, until it
// succeeds or is deleted. One that the schedule of a cluster has made is given up 6 hours after
// it was created, as is its trial 6 hours after it was written: the schedule makes the next one.
//
// With deletionPolicy Delete the object stays until the store has deleted what it keeps. If
// the EtcdBackupStore does not exist any more the object goes, and what is stored stays.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdbackups,singular=etcdbackup,shortName=eb,categories=etcd
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.status.cluster`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.revision`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.storedSize`
// +kubebuilder:printcolumn:name="Verified",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].status`
// +kubebuilder:printcolumn:name="Store",type=string,JSONPath=`.status.store`,priority=1
// +kubebuilder:printcolumn:name="Path",type=string,JSONPath=`.status.path`,priority=1
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress.message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +operator-sdk:csv:customresourcedefinitions:displayName="etcd Backup",resources={{Job,v1},{Pod,v1},{Event,v1}},order=2
// +kubebuilder:validation:XValidation:rule="has(self.spec.cluster) != has(self.spec.found)",message="an EtcdBackup names either the cluster that is to be backed up, or what was found in a store"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.found) || has(self.spec.store)",message="found is a path in a store: store names it"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters: it is the value of a label"
type EtcdBackup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what is backed up, and where it is stored. Only decryption and deletionPolicy can be changed.
	// +required
	Spec EtcdBackupSpec `json:"spec"`

	// status is how far the backup is, and what is in it.
	// +optional
	Status EtcdBackupStatus `json:"status,omitzero"`
}

// EtcdBackupList is a list of EtcdBackups.
//
// +kubebuilder:object:root=true
type EtcdBackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdBackup `json:"items"`
}

// EtcdBackupSpec says what is backed up, and where it is stored. Exactly one of cluster and found is given.
//
// +kubebuilder:validation:XValidation:rule="has(self.cluster) == has(oldSelf.cluster) && (!has(self.cluster) || self.cluster == oldSelf.cluster) && has(self.store) == has(oldSelf.store) && (!has(self.store) || self.store == oldSelf.store) && has(self.found) == has(oldSelf.found) && (!has(self.found) || self.found == oldSelf.found) && has(self.volume) == has(oldSelf.volume) && (!has(self.volume) || self.volume == oldSelf.volume)",message="cluster, store, found and volume cannot be changed: create another EtcdBackup"
// +kubebuilder:validation:XValidation:rule="has(self.encryption) == has(oldSelf.encryption) && (!has(self.encryption) || self.encryption == oldSelf.encryption) && has(self.verify) == has(oldSelf.verify) && (!has(self.verify) || self.verify == oldSelf.verify)",message="encryption and verify cannot be changed: create another EtcdBackup; the annotation etcd-operator.dev/verify asks for a trial"
// +kubebuilder:validation:XValidation:rule="!has(self.volume) || has(self.cluster)",message="volume goes with cluster, which the member belongs to"
// +kubebuilder:validation:XValidation:rule="!has(self.volumeSnapshot) || has(self.cluster) && !has(self.store) && !has(self.volume) && !has(self.encryption) && !has(self.decryption)",message="volumeSnapshot goes with cluster, and without store, volume, encryption and decryption: a VolumeSnapshot lies in no store, and is as encrypted as its StorageClass makes it"
// +kubebuilder:validation:XValidation:rule="has(self.volumeSnapshot) == has(oldSelf.volumeSnapshot) && (!has(self.volumeSnapshot) || self.volumeSnapshot == oldSelf.volumeSnapshot)",message="volumeSnapshot cannot be changed: create another EtcdBackup"
type EtcdBackupSpec struct {
	// cluster is the name of the EtcdCluster in the same namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=52
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Cluster",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=1
	Cluster string `json:"cluster,omitempty"`

	// store is the name of the EtcdBackupStore in the same namespace. Default: spec.backup.store of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Store",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	Store string `json:"store,omitempty"`

	// volume is the volume of a member of the cluster that does not run, which is backed up instead of what the cluster serves: what a
	// survivor has when quorum is lost, or what a restore has set aside. It is only read. All that the member has in its log is in the
	// backup, as if the member had been elected.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volume",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=8
	Volume string `json:"volume,omitempty"`

	// volumeSnapshot has Kubernetes take a VolumeSnapshot of the volume of one member, instead of a Job that sends the data to a store: for
	// data that streams too slowly. It is what that member would have after a crash of its node. It needs a CSI driver that takes
	// snapshots, its VolumeSnapshotClass and the snapshot controller, and stays where the driver keeps it.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volume Snapshot",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=9
	VolumeSnapshot *VolumeSnapshotBackup `json:"volumeSnapshot,omitempty"`

	// found is the path in the store of a backup that lies there already. The operator sets it
	// when it lists a store.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Found",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Found string `json:"found,omitempty"`

	// encryption encrypts the backup with age (https://age-encryption.org). Default: as
	// spec.backup.encryption of the cluster says.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Encryption",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Encryption *BackupEncryption `json:"encryption,omitempty"`

	// decryption is a Secret with age identities in its key identities, by which an encrypted backup can be
	// verified. Default: as spec.backup.decryption of the cluster says.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Decryption",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	Decryption *SecretReference `json:"decryption,omitempty"`

	// verify says whether the backup is restored on trial into an etcd of its version that is thrown away
	// afterwards. Default: as spec.backup.verify of the cluster says; true without a cluster. A
	// backup that was found is verified only if this is true.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Verify",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	Verify *bool `json:"verify,omitempty"`

	// deletionPolicy says what happens to what is stored when this object is deleted: Retain
	// keeps it, Delete removes it from the store. Default Retain.
	// +optional
	// +kubebuilder:default=Retain
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Deletion Policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=7
	DeletionPolicy BackupDeletionPolicy `json:"deletionPolicy,omitempty"`
}

// VolumeSnapshotBackup says how a VolumeSnapshot is taken.
type VolumeSnapshotBackup struct {
	// className is the name of the VolumeSnapshotClass. Default: the one that is the default of the volume's CSI driver.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className,omitempty"`
}

// VolumeSnapshotReference is a VolumeSnapshot that has the data of a member.
type VolumeSnapshotReference struct {
	// name of the VolumeSnapshot, in the namespace of the EtcdBackup.
	Name string `json:"name"`

	// uid of the VolumeSnapshot.
	UID string `json:"uid"`

	// storageClass is the StorageClass of the volume that it is of. What is made of it to be read is made by that class.
	// +optional
	StorageClass string `json:"storageClass,omitempty"`

	// size of a volume that is made of it.
	Size resource.Quantity `json:"size"`
}

// BackupDeletionPolicy says what happens to what is stored when an EtcdBackup is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type BackupDeletionPolicy string

const (
	// RetainBackup keeps what is stored.
	RetainBackup BackupDeletionPolicy = "Retain"
	// DeleteBackup removes it from the store.
	DeleteBackup BackupDeletionPolicy = "Delete"
)

// BackupEncryption encrypts a backup with age.
type BackupEncryption struct {
	// recipients are public keys of age, such as age1…; the identity of any one of them can
	// decrypt the backup. The operator does not need an identity to write one.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=2500
	// +kubebuilder:validation:items:Pattern=`^age1[a-z0-9]+$`
	Recipients []string `json:"recipients"`
}
