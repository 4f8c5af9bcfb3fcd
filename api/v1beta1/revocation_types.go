// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Revocation is a certificate that members refuse.
type Revocation struct {
	// serial is its serial number in hexadecimal: lower case, without colons and leading zeros. It is in the status of an
	// EtcdUser, and what `openssl x509 -noout -serial` prints, in lower case and without a leading zero.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9a-f][0-9a-f]*$')",message="serial must be hexadecimal, in lower case, without colons, spaces and leading zeros, as in 3f9a01c2"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Serial Number",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=64
	Serial string `json:"serial"`

	// reason is for people: whose certificate it was, and what happened. At most 256 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Reason",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=65
	Reason string `json:"reason,omitempty"`
}

// RevocationPhase is how far a revocation is.
type RevocationPhase string

const (
	// RevocationListed: kubelets bring the list to members.
	RevocationListed RevocationPhase = "Listed"
	// RevocationRestarting: members restart that may have connections from before.
	RevocationRestarting RevocationPhase = "Restarting"
	// RevocationDone: every member refuses what is on the list, and has restarted since.
	RevocationDone RevocationPhase = "Revoked"
)

// RevocationStatus is how far certificates are revoked.
type RevocationStatus struct {
	// phase is Listed, kubelets bring the list to members; Restarting, each member that reads the list was seen to refuse what is on
	// it, and those restart, one at a time, that may have connections from before; or Revoked, every member refuses what is on the
	// list, and no connection is left that was opened with it.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Phase of Revocation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=66
	Phase RevocationPhase `json:"phase"`

	// revokedAt is when a certificate was revoked last (RFC 3339, with nanoseconds). Pods of members have the annotation
	// etcd-operator.dev/revoked-at with this value once they have restarted for it.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Revoked at",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=67
	RevokedAt string `json:"revokedAt"`

	// serials are the serial numbers on the list, sorted.
	// +optional
	// +listType=set
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Revoked Serial Numbers",order=68
	Serials []string `json:"serials,omitempty"`
}
