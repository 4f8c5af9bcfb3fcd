// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RotationPhase is how far the rotation of an authority is.
type RotationPhase string

const (
	// RotationStable: one authority is trusted, and it signs.
	RotationStable RotationPhase = "Stable"
	// RotationIntroduced: the next one is trusted, and signs nothing yet.
	RotationIntroduced RotationPhase = "Introduced"
	// RotationSwitched: it signs, and the one before is still trusted.
	RotationSwitched RotationPhase = "Switched"
)

// AuthorityStatus is a certificate authority of the cluster.
type AuthorityStatus struct {
	// name is client, which signs for clients and for what members show to them, or peer, which signs for members among themselves.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Authority",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=61
	Name string `json:"name"`

	// secret that holds it.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Secret of the Authority",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"},order=62
	Secret string `json:"secret"`

	// phase of its rotation: Stable, one authority is trusted; Introduced, the next one is trusted and signs nothing yet;
	// Switched, it signs, and the one before is still trusted.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Phase of Rotation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=63
	Phase RotationPhase `json:"phase"`

	// notAfter is when the authority that signs now ends, and with it all that it has signed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Authority Ends",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=64
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// request is the value of the annotation etcd-operator.dev/rotate that it was rotated for last.
	// +optional
	Request string `json:"request,omitempty"`
}
