// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Profile says what kind of client the settings of etcd are for.
// +kubebuilder:validation:Enum=General;Kubernetes
type Profile string

const (
	// ProfileGeneral is for applications of any kind.
	ProfileGeneral Profile = "General"
	// ProfileKubernetes is for API servers of Kubernetes.
	ProfileKubernetes Profile = "Kubernetes"
)

// ProfileStatus is what spec.profile sets.
type ProfileStatus struct {
	// name of the profile.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Profile",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=139
	Name Profile `json:"name"`

	// settings are the flags and feature gates of etcd that the profile sets.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Settings of the Profile",order=140
	Settings []string `json:"settings,omitempty"`

	// overridden are the fields of the spec that are set and win over the profile.
	// +optional
	// +listType=atomic
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Fields That Win over the Profile",order=141
	Overridden []string `json:"overridden,omitempty"`
}
