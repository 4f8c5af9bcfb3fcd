// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bootstrap is the plan that is written before the first Pod exists and used
// until the cluster has formed, whatever the spec says meanwhile.
type Bootstrap struct {
	// token is etcd's initial-cluster-token: the UID of the EtcdCluster that the
	// plan was made for.
	Token string `json:"token"`

	// members are the names of the first members.
	// +listType=atomic
	Members []string `json:"members"`

	// adopted is true when the members' volumes were there before this
	// EtcdCluster: the members come back with their data, and never form a new cluster.
	// +optional
	Adopted bool `json:"adopted,omitempty"`

	// restore is the restore in place that has brought these members, by the UID of its EtcdRestore; empty if none has.
	// +optional
	Restore string `json:"restore,omitempty"`

	// networkPolicy is true if a NetworkPolicy is made where spec.networkPolicy.mode says nothing. It is missing where an earlier
	// release has chosen the first members.
	// +optional
	NetworkPolicy bool `json:"networkPolicy,omitempty"`

	// requests says that members ask for 100m of a processor and 128Mi of memory if spec.resources does not say: the cluster was formed by a
	// version that knows this default.
	// +optional
	Requests bool `json:"requests,omitempty"`

	// defragRoom is true if the default of etcd.quota leaves room to defragment a database that is full. It is missing, and the default is
	// three quarters of the volume, where an earlier release has chosen the first members, and where they began with data.
	// +optional
	DefragRoom bool `json:"defragRoom,omitempty"`

	// maintenance is true if members are defragmented, and the alarm NOSPACE is ended, where spec.maintenance says nothing of it. It is
	// missing where an earlier release has chosen the first members.
	// +optional
	Maintenance bool `json:"maintenance,omitempty"`
}

// Rollback is a version that was tried and rolled back.
type Rollback struct {
	// refused is the version, in full, that is not tried again before spec.version means
	// another one.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Refused Version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=19
	Refused string `json:"refused"`

	// refusedImage is the spec.image that came with it.
	// +optional
	RefusedImage string `json:"refusedImage,omitempty"`

	// version is what members run instead.
	Version string `json:"version"`

	// image is what their containers run, if it was the user's choice.
	// +optional
	Image string `json:"image,omitempty"`

	// because says what went wrong.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Refused because",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=20
	Because string `json:"because,omitempty"`
}

// QuorumLoss is what is left after quorum was lost for good, or with nodes that are gone.
type QuorumLoss struct {
	// lost are the voters whose data is gone or cannot be used.
	// +listType=atomic
	Lost []string `json:"lost"`

	// missing are the voters whose volumes are on nodes that no longer exist in Kubernetes.
	// Their machines may still run etcd and hold newer data than any survivor, so that they
	// count as lost only when a person accepts it.
	// +optional
	// +listType=atomic
	Missing []string `json:"missing,omitempty"`

	// survivors are the voters whose data is left.
	// +optional
	// +listType=map
	// +listMapKey=name
	Survivors []Survivor `json:"survivors,omitempty"`

	// accept is the value that spec.recovery.acceptDataLoss must have for the cluster
	// to go on from the best survivor: its name and the revision of its data. Writes
	// after that revision are lost. Empty until every survivor has answered.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Value to Accept the Loss with",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=16
	Accept string `json:"accept,omitempty"`

	// backup is the newest verified EtcdBackup of the cluster, and what going back to it would cost. It is
	// missing if there is none of the data that the cluster has now.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Newest Verified Backup",order=39
	Backup *QuorumLossBackup `json:"backup,omitempty"`
}

// QuorumLossBackup is a backup that a cluster can be brought back to whose quorum is lost for good.
type QuorumLossBackup struct {
	// name of the EtcdBackup.
	Name string `json:"name"`

	// revision of etcd's data in it.
	Revision int64 `json:"revision"`

	// time of the backup: what was written later would be lost.
	Time metav1.Time `json:"time"`

	// lost is how many revisions the cluster is known to have had after that of the backup: they would be
	// lost. It is missing if no later one is known, which proves nothing.
	// +optional
	Lost *int64 `json:"lost,omitempty"`

	// accept is the value that spec.recovery.acceptDataLoss must have for the cluster to be brought back to
	// the backup in place: its name and its revision. Empty while a person has to do something else first,
	// such as to restore a backup that is encrypted; Degraded says what.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Value to Go Back to the Backup with",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=40
	Accept string `json:"accept,omitempty"`
}

// Survivor is a voter whose data is left.
type Survivor struct {
	// name of the member.
	Name string `json:"name"`

	// revision of its data; 0 while it does not answer.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// raftIndex is the last entry of the log that it knows to be committed.
	// +optional
	RaftIndex int64 `json:"raftIndex,omitempty"`
}

// UnknownMember is a member that etcd lists and that the operator has not added.
type UnknownMember struct {
	// id is etcd's ID of the member, in hexadecimal.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="ID of the Unknown Member",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=32
	ID string `json:"id"`

	// name that it has given itself; empty until it has started.
	// +optional
	Name string `json:"name,omitempty"`

	// peerURLs are where other members find it.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Peer URLs",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=33
	PeerURLs []string `json:"peerURLs,omitempty"`

	// role is Voter or Learner.
	Role string `json:"role"`
}

// MemberStatus is one member.
type MemberStatus struct {
	// name of the member, its Pod and its volume.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Member",xDescriptors={"urn:alm:descriptor:io.kubernetes:Pod"},order=8
	Name string `json:"name"`

	// id is etcd's ID of the member, in hexadecimal.
	// +optional
	ID string `json:"id,omitempty"`

	// role is Leader, Voter, Learner or Unlisted (not a member of the cluster yet,
	// or no longer).
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Role",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=9
	Role string `json:"role,omitempty"`

	// version of etcd that the member runs.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="etcd Version of the Member",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=11
	Version string `json:"version,omitempty"`

	// healthy is true when the member answers linearizable reads.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Healthy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=10
	Healthy bool `json:"healthy"`

	// dbSize is the size of the member's database file, rounded up to a power of
	// two so that a busy cluster does not cause a write a second.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Database Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=12
	DBSize *resource.Quantity `json:"dbSize,omitempty"`

	// lastDefragmentation is when the member's database was defragmented, and what that has given back.
	// +optional
	LastDefragmentation *MemberDefragmentation `json:"lastDefragmentation,omitempty"`

	// message says what is wrong with the member, if anything is.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="What Is Wrong",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=13
	Message string `json:"message,omitempty"`
}
