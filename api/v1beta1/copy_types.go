// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Copy names a running cluster of etcd whose keys are copied into this one, where members cannot join it: with TLS where it has none,
// with another authority, of a version that cannot be adopted, or where only its client port is reachable. All keys are copied and then
// followed. On request its writes are stopped, the rest is copied, both clusters are compared, and clients are sent to this one.
// Revisions of keys, users and roles are not copied.
//
// +kubebuilder:validation:XValidation:rule="self.endpoints.all(url, url.startsWith('https://')) || self.endpoints.all(url, url.startsWith('http://'))",fieldPath=".endpoints",message="bootstrap.copy.endpoints must be all https or all http"
// +kubebuilder:validation:XValidation:rule="self.endpoints.exists(url, url.startsWith('https://')) == has(self.clientSecretRef)",fieldPath=".clientSecretRef",message="bootstrap.copy with https endpoints needs clientSecretRef (the authority that signed the certificate of the source, and the certificate of a client if the source wants one); with http endpoints there is none"
type Copy struct {
	// endpoints are URLs at which the running cluster, the source, serves clients, such as http://etcd-0.etcd-headless.default.svc:2379. Name
	// members rather than a Service that members leave when they are not ready. 1 to 9.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:MaxLength=300
	// +kubebuilder:validation:items:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getPort() != ''",message="an endpoint must be a URL with scheme http or https, a host and a port, such as http://etcd-0.etcd.default.svc:2379"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Endpoints to Copy",order=145
	Endpoints []string `json:"endpoints"`

	// clientSecretRef names the Secret with ca.crt by which https endpoints are verified, and with tls.crt and tls.key if the source wants a
	// certificate of its clients. The Secret has the annotation etcd-operator.dev/adopted-by with name, UID and endpoints of the
	// EtcdCluster.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Client Certificate for the Source",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ClientSecretRef *LocalSecret `json:"clientSecretRef,omitempty"`

	// credentialsRef names the Secret with the password of a user who may read and write every key and raise alarms, such as root. The
	// Secret has the annotation etcd-operator.dev/adopted-by with name, UID and endpoints of the EtcdCluster. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Credentials for the Source to Copy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	CredentialsRef *Credentials `json:"credentialsRef,omitempty"`

	// services are the Services in the same namespace by which clients reach the source, with the annotation
	// etcd-operator.dev/adopted-by. At the switch their selectors are changed to the members of this cluster. Default: none; clients have to
	// change their endpoints.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z][-a-z0-9]*$') && !self.endsWith('-')",message="bootstrap.copy.services must be names of Services: lower case letters, digits and '-'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Services of the Source",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Services []string `json:"services,omitempty"`

	// switch is Manual (clients are sent to this cluster when the annotation etcd-operator.dev/switch asks for it) or Automatic (as soon as
	// a comparison of all keys has found no difference). Default Manual.
	// +optional
	// +kubebuilder:default=Manual
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Switch",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Manual","urn:alm:descriptor:com.tectonic.ui:select:Automatic"}
	Switch CopySwitch `json:"switch,omitempty"`

	// stopLimit is for how long writes to the source may be stopped at most; if the switch is not made by then, they go on. It is 5s to
	// 30m. Default 1m.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s') && duration(self) <= duration('30m')",message="bootstrap.copy.stopLimit must be between 5s and 30m"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Limit of Stopped Writes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"}
	StopLimit metav1.Duration `json:"stopLimit,omitzero"`
}

// CopySwitch says when clients are sent to the cluster that is copied into.
// +kubebuilder:validation:Enum=Manual;Automatic
type CopySwitch string

const (
	// SwitchManual waits for the annotation.
	SwitchManual CopySwitch = "Manual"
	// SwitchAutomatic switches when everything is copied.
	SwitchAutomatic CopySwitch = "Automatic"
)

// DefaultStopLimit is for how long writes may be stopped.
const DefaultStopLimit = time.Minute

// Limit is for how long writes may be stopped.
func (c *Copy) Limit() time.Duration {
	if c.StopLimit.Duration == 0 {
		return DefaultStopLimit
	}
	return c.StopLimit.Duration
}

// CopyStatus is how far the copy of a running cluster is.
type CopyStatus struct {
	// sourceID is the ID of the source, in hexadecimal.
	// +optional
	SourceID string `json:"sourceID,omitempty"`

	// keys is how many keys have been copied, counted once for each time that all are read.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Copied Keys",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Keys int64 `json:"keys,omitempty"`

	// revision of the source up to which this cluster has all keys; 0 before all were read once.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// lag is how many revisions of the source are not copied yet.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Revisions Not Copied Yet",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	Lag int64 `json:"lag,omitempty"`

	// users and roles of the source, which are not copied; absent if they cannot be listed.
	// +optional
	Users *int32 `json:"users,omitempty"`

	// roles of the source.
	// +optional
	Roles *int32 `json:"roles,omitempty"`

	// comparison is the last one of all keys and values.
	// +optional
	Comparison *CopyComparison `json:"comparison,omitempty"`

	// request is the last value of the annotation etcd-operator.dev/switch for which writes were stopped.
	// +optional
	Request string `json:"request,omitempty"`

	// stoppedAt is since when writes to the source are stopped; absent while they are not.
	// +optional
	StoppedAt *metav1.MicroTime `json:"stoppedAt,omitempty"`

	// releasedAt is when a switch was given up and writes to the source went on.
	// +optional
	ReleasedAt *metav1.MicroTime `json:"releasedAt,omitempty"`

	// failure says why the last switch was given up.
	// +optional
	Failure string `json:"failure,omitempty"`

	// switchedAt is when it was decided that clients are sent to this cluster. It is never undone.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Switched at"
	SwitchedAt *metav1.MicroTime `json:"switchedAt,omitempty"`

	// stoppedFor is how long writes were stopped before the Services were changed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Writes Were Stopped for",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"}
	StoppedFor *metav1.Duration `json:"stoppedFor,omitempty"`

	// leases is how many leases this cluster was given, and leasedKeys how many keys are bound to them.
	// +optional
	Leases int32 `json:"leases,omitempty"`

	// leasedKeys is how many keys are bound to leases.
	// +optional
	LeasedKeys int64 `json:"leasedKeys,omitempty"`

	// completedAt is when nothing was left to do.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// CopyComparison is what a comparison of two clusters has found: the sum is the SHA-256 of all keys with their values, in their order.
type CopyComparison struct {
	// equal says whether both have the same keys with the same values.
	Equal bool `json:"equal"`

	// keys is how many the source has.
	Keys int64 `json:"keys"`

	// sha256 of those of the source, in hexadecimal.
	SHA256 string `json:"sha256"`

	// sourceRevision and targetRevision are the revisions that were compared.
	SourceRevision int64 `json:"sourceRevision"`

	// targetRevision is that of this cluster.
	TargetRevision int64 `json:"targetRevision"`

	// duration of the comparison.
	Duration metav1.Duration `json:"duration"`

	// time of the comparison.
	Time metav1.Time `json:"time"`
}

// AnnotationSwitch asks for the switch of an EtcdCluster with spec.bootstrap.copy, once for each value. While it is not made, removing the
// annotation gives it up.
const AnnotationSwitch = "etcd-operator.dev/switch"

// ConditionCopied is, on an EtcdCluster with spec.bootstrap.copy, True once clients are sent to it.
const ConditionCopied = "Copied"

// Reasons of ConditionCopied.
const (
	// ReasonSwitched: the data is copied, and clients are sent to this cluster. True, and for good.
	ReasonSwitched = "Switched"
	// ReasonTargetNotEmpty: this cluster has keys that the copy has not written, and nothing is copied.
	ReasonTargetNotEmpty = "TargetNotEmpty"
	// ReasonTargetChanged: something else has written to this cluster while it was copied into, and it is not switched to.
	ReasonTargetChanged = "TargetChanged"
	// ReasonCopying: all keys are being read.
	ReasonCopying = "Copying"
	// ReasonFollowing: what is written to the source is copied.
	ReasonFollowing = "Following"
	// ReasonReadyToSwitch: all keys are the same, and the switch can be asked for.
	ReasonReadyToSwitch = "ReadyToSwitch"
	// ReasonDataDiffers: a comparison has found a difference, and this cluster is not switched to.
	ReasonDataDiffers = "DataDiffers"
	// ReasonWritesStopped: writes to the source are stopped, and the switch is on its way.
	ReasonWritesStopped = "WritesStopped"
	// ReasonSwitchFailed: a switch was given up, and writes to the source go on; the message says why.
	ReasonSwitchFailed = "SwitchFailed"
	// ReasonCopyFailed: something was refused, which the message quotes; it is tried again.
	ReasonCopyFailed = "CopyFailed"
)

// WantsCopy says whether the spec names a running cluster to copy.
func (c *EtcdCluster) WantsCopy() bool {
	return c.Spec.Bootstrap != nil && c.Spec.Bootstrap.Copy != nil
}

// Copies is the running cluster that is yet to be copied; nil if there is none.
func (c *EtcdCluster) Copies() *Copy {
	if !c.WantsCopy() || c.Status.Copy != nil && c.Status.Copy.CompletedAt != nil {
		return nil
	}
	return c.Spec.Bootstrap.Copy
}

// HasSwitched says whether clients are sent to this cluster after a copy.
func (c *EtcdCluster) HasSwitched() bool {
	return c.Status.Copy != nil && c.Status.Copy.SwitchedAt != nil
}

// SourceServices are the Services by which clients reached the cluster that is adopted or copied.
func (c *EtcdCluster) SourceServices() []string {
	b := c.Spec.Bootstrap
	switch {
	case b == nil:
		return nil
	case b.Adopt != nil:
		return slices.Clone(b.Adopt.Services)
	case b.Copy != nil:
		return slices.Clone(b.Copy.Services)
	}
	return nil
}
