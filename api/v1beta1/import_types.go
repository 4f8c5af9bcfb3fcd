// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Import names what holds the keys that a new cluster begins with: a ConfigMap or a Secret in the same namespace. Each of its
// entries is a key of etcd, whose name is prefix and the name of the entry, and whose value is that of the entry. An entry that is
// called import.yaml or import.json is a list of keys instead: each has key, and value or valueBase64.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMapRef) != has(self.secretRef)",message="bootstrap.import names either a configMapRef or a secretRef"
type Import struct {
	// configMapRef names a ConfigMap.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="ConfigMap with the First Keys",order=53
	ConfigMapRef *ImportReference `json:"configMapRef,omitempty"`

	// secretRef names a Secret of the type Opaque that the operator has not made.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret with the First Keys",order=54
	SecretRef *ImportReference `json:"secretRef,omitempty"`

	// prefix is what all keys begin with. It is put before the names as it is, without a / in between.
	// Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Prefix of the First Keys",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=55
	Prefix string `json:"prefix,omitempty"`
}

// ImportReference names an object in the same namespace.
type ImportReference struct {
	// name of the object. It may be created after the EtcdCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="name must be the name of a ConfigMap or Secret: lower case letters, digits, '-' and '.', with a letter or digit on both sides of each '.'"
	Name string `json:"name"`
}

// ImportStatus is what was imported. Nothing is imported again while it is there.
type ImportStatus struct {
	// keys is how many keys the ConfigMap or Secret had.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Imported Keys",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=44
	Keys int32 `json:"keys"`

	// kept is how many of them were in etcd already and are as they were. After an operator that died while
	// it was importing, those that it had written are among them.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Keys That Were There",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=45
	Kept int32 `json:"kept,omitempty"`

	// revision of etcd's data with all of them.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Revision of the Import",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=46
	Revision int64 `json:"revision"`

	// time when all of them were in etcd.
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Imported at",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=47
	Time metav1.Time `json:"time"`
}

// ConditionImported is, on an EtcdCluster with spec.bootstrap.import, True once all keys are in etcd. The cluster serves before.
const ConditionImported = "Imported"

// Reasons of ConditionImported.
const (
	// ReasonKeysWritten: every key is in etcd. True, and for good.
	ReasonKeysWritten = "KeysWritten"
	// ReasonWaitingForCluster: the cluster has yet to form, or does not serve, or is paused; the message says which.
	ReasonWaitingForCluster = "WaitingForCluster"
	// ReasonSourceMissing: the ConfigMap or Secret does not exist; it is looked for until it does.
	ReasonSourceMissing = "SourceMissing"
	// ReasonSourceRefused: the Secret is one that is not imported; the message says why.
	ReasonSourceRefused = "SourceRefused"
	// ReasonEntryInvalid: an entry means no key; the message names it. Nothing is written before it is corrected.
	ReasonEntryInvalid = "EntryInvalid"
	// ReasonDataPresent: the cluster did not begin empty, and nothing is ever imported.
	ReasonDataPresent = "DataPresent"
	// ReasonImportFailed: Kubernetes or etcd refused something, which the message quotes; it is tried again.
	ReasonImportFailed = "ImportFailed"
)

// WantsImport says whether keys of a ConfigMap or Secret are to be imported, or were.
func (c *EtcdCluster) WantsImport() bool {
	return c.Spec.Bootstrap != nil && c.Spec.Bootstrap.Import != nil
}

// HasImported says whether they were. An operator of an earlier release that runs in between loses the record, and keeps the condition.
func (c *EtcdCluster) HasImported() bool {
	return c.Status.Import != nil || meta.IsStatusConditionTrue(c.Status.Conditions, ConditionImported)
}
