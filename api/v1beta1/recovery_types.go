// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Recovery says what the operator may do about members that do not come back.
type Recovery struct {
	// quorumLoss is Manual (when a majority has lost its data for good, the status
	// says what is left, and nothing happens before acceptDataLoss names it) or
	// Automatic (the cluster goes on from the best survivor at once). A majority that
	// is only down or out of reach is always waited for. Default Manual.
	// +optional
	// +kubebuilder:default=Manual
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="When Quorum Is Lost for Good",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Manual","urn:alm:descriptor:com.tectonic.ui:select:Automatic"},order=26
	QuorumLoss QuorumLossPolicy `json:"quorumLoss,omitempty"`

	// acceptDataLoss lets the cluster go on after quorum was lost for good. It must be exactly
	// status.quorumLoss.accept, such as example-0@1234: the survivor and the revision of its data,
	// after which all writes are lost; or status.quorumLoss.backup.accept, such as
	// backup/nightly@1200: the EtcdBackup that the cluster is brought back to in place, and its
	// revision, after which all writes are lost. It has no effect on any other loss. If a quorum
	// answers with less than status.revision, it is the name of the EtcdCluster and that revision,
	// such as example@1234: the writes in between are lost.
	// +optional
	// +kubebuilder:validation:MaxLength=280
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^(backup/[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*|[a-z]([-a-z0-9]*[a-z0-9])?)@[0-9]+$')",message="recovery.acceptDataLoss must be what status.quorumLoss.accept says: a member and a revision, such as example-0@1234; or what status.quorumLoss.backup.accept says: a backup and a revision, such as backup/nightly@1234"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Accept the Loss of Data",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=27
	AcceptDataLoss string `json:"acceptDataLoss,omitempty"`

	// memberTimeout is how long the node of a member may be silent before the member
	// is replaced by a new one on another node. Its volume is kept. Default 5m, at
	// least 10s.
	// +optional
	// +kubebuilder:default="5m0s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s')",message="recovery.memberTimeout must be at least 10s: a node that is silent for less may only be busy"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replace Members of Silent Nodes after",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=28
	MemberTimeout metav1.Duration `json:"memberTimeout,omitzero"`

	// slowMembers is Keep (leadership is moved away from a member that is slower than the others, and nothing else) or Replace (a member that
	// stays slow for slowMemberTimeout is replaced: another one joins first, with a volume of its own, on another node where possible. At
	// most one a day, and none while several are slow). The volume of the old one is kept for storage.quarantine. Default Keep.
	// +optional
	// +kubebuilder:default=Keep
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Slow Members",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Keep","urn:alm:descriptor:com.tectonic.ui:select:Replace","urn:alm:descriptor:com.tectonic.ui:advanced"},order=136
	SlowMembers SlowMemberPolicy `json:"slowMembers,omitempty"`

	// slowMemberTimeout is for how long a member has to be slow before it is replaced. Default 1h, at least 5m.
	// +optional
	// +kubebuilder:default="1h0m0s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5m')",message="recovery.slowMemberTimeout must be at least 5m: a member that is slow for less may only be busy"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replace Slow Members after",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=137
	SlowMemberTimeout metav1.Duration `json:"slowMemberTimeout,omitzero"`
}

// QuorumLossPolicy says whether a person or the operator decides to go on with less data.
// +kubebuilder:validation:Enum=Manual;Automatic
type QuorumLossPolicy string

const (
	// Manual waits for a person.
	Manual QuorumLossPolicy = "Manual"
	// Automatic goes on from the best survivor.
	Automatic QuorumLossPolicy = "Automatic"
)
