// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdRole is a role of etcd in one EtcdCluster of its namespace: which keys may be read and
// written by the users that have it. The operator makes the role as the object says, puts back
// what is changed with etcdctl, and deletes the role with the object.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdroles,singular=etcdrole,shortName=erole,categories=etcd
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="Role",type=string,JSONPath=`.status.role`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +operator-sdk:csv:customresourcedefinitions:displayName="etcd Role",resources={{Event,v1}},order=6
// +kubebuilder:validation:XValidation:rule="has(self.spec.roleName) || self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters, or spec.roleName must be given: it is the name of the role in etcd"
// +kubebuilder:validation:XValidation:rule="has(self.spec.roleName) || self.metadata.name != 'root'",message="root is the role of the operator, and grants everything: choose another name"
type EtcdRole struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what the role grants.
	// +required
	Spec EtcdRoleSpec `json:"spec"`

	// status is how the role was found in etcd.
	// +optional
	Status EtcdRoleStatus `json:"status,omitzero"`
}

// EtcdRoleList is a list of EtcdRoles.
//
// +kubebuilder:object:root=true
type EtcdRoleList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdRole `json:"items"`
}

// EtcdRoleSpec says what a role grants.
//
// +kubebuilder:validation:XValidation:rule="has(self.roleName) == has(oldSelf.roleName) && (!has(self.roleName) || self.roleName == oldSelf.roleName)",fieldPath=".roleName",message="roleName cannot be changed: the role of the old name would stay in etcd; create another EtcdRole"
type EtcdRoleSpec struct {
	// cluster is the EtcdCluster of this namespace that has the role. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cluster cannot be changed: the role would stay in the old one; create another EtcdRole"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Cluster",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=1
	Cluster string `json:"cluster"`

	// roleName is the name of the role in etcd. Default: the name of this object. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self != 'root'",message="root is the role of the operator, and grants everything: choose another name"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9._@/]*[A-Za-z0-9])?$')",message="roleName must begin and end with a letter or digit, and have only letters, digits and -._@/ in between"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name in etcd",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	RoleName string `json:"roleName,omitempty"`

	// permissions are what the role grants. A role without any grants nothing. Two of the same
	// keys grant what both say.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Permissions",order=3
	Permissions []EtcdPermission `json:"permissions,omitempty"`
}

// EtcdPermission grants access to one key, to all keys with a prefix, or to a range of keys.
//
// +kubebuilder:validation:XValidation:rule="[has(self.key), has(self.prefix), has(self.range)].filter(x, x).size() == 1",message="a permission is about exactly one of key, prefix and range"
type EtcdPermission struct {
	// access is Read, Write (put and delete) or ReadWrite.
	// +required
	Access EtcdAccess `json:"access"`

	// key is one key.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Key *string `json:"key,omitempty"`

	// prefix is what keys begin with; "" is every key.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Prefix *string `json:"prefix,omitempty"`

	// range is all keys from one up to another.
	// +optional
	Range *EtcdKeyRange `json:"range,omitempty"`
}

// EtcdKeyRange is a range of keys, in the order of their bytes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.to) || self.from < self.to",message="range.to must come after range.from: the range would be empty, and etcd refuses it"
type EtcdKeyRange struct {
	// from is the first key of the range.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	From string `json:"from"`

	// to is the first key after the range. Default: the range has no end.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	To string `json:"to,omitempty"`
}

// EtcdAccess says what may be done with keys.
// +kubebuilder:validation:Enum=Read;Write;ReadWrite
type EtcdAccess string

const (
	// ReadAccess is to get and watch keys.
	ReadAccess EtcdAccess = "Read"
	// WriteAccess is to put and delete keys.
	WriteAccess EtcdAccess = "Write"
	// ReadWriteAccess is both.
	ReadWriteAccess EtcdAccess = "ReadWrite"
)

// EtcdRoleStatus is how the role was found in etcd.
type EtcdRoleStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed Generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=9
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions have Ready: whether the role in etcd is as the spec says.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=1
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// role is the name of the role in etcd.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Name in etcd",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	Role string `json:"role,omitempty"`
}

// Role is the name of the role in etcd.
func (r *EtcdRole) Role() string {
	if r.Spec.RoleName != "" {
		return r.Spec.RoleName
	}
	return r.Name
}
