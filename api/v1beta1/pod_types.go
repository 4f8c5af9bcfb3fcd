// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Storage says where members keep their data: on one PersistentVolumeClaim a
// member (the default), or on the node's disk for as long as the Pod lives.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.ephemeral) && (has(self.size) || has(self.storageClassName)))",message="storage.ephemeral goes without storage.size and storage.storageClassName: choose one kind of storage"
// +kubebuilder:validation:XValidation:rule="quantity(has(self.size) ? string(self.size) : '8Gi').compareTo(quantity('64Mi')) >= 0",message="storage.size must be at least 64Mi: etcd preallocates its write-ahead log in files of 64 MB"
type Storage struct {
	// size of each member's volume. It may grow later if the storage class allows
	// it, and never shrinks; if the class does not allow it, it may be set back to
	// status.volumeSize. Default 8Gi.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volume Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Size *resource.Quantity `json:"size,omitempty"`

	// storageClassName of the volumes; the cluster's default class if not given. It may be changed to another name: members whose volume
	// has another class are replaced one at a time by new ones, which join first. Volumes of the old ones are kept for quarantine.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="storage.storageClassName must be the name of a StorageClass: lower case letters, digits, '-' and '.'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Storage Class",xDescriptors={"urn:alm:descriptor:io.kubernetes:StorageClass"},order=5
	StorageClassName *string `json:"storageClassName,omitempty"`

	// quarantine is how long the volume of a removed member is kept before it is
	// deleted. It is never mounted again. Default 168h, a week; 0s deletes it as soon
	// as all members are healthy.
	// +optional
	// +kubebuilder:default="168h0m0s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="storage.quarantine must not be negative"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Keep Volumes of Removed Members for",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=6
	Quarantine *metav1.Duration `json:"quarantine,omitempty"`

	// autoGrow lets the operator make volumes larger before a database is full, and with them the quota that is derived from their size.
	// Default: volumes have storage.size.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Grow by Itself",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=110
	AutoGrow *AutoGrow `json:"autoGrow,omitempty"`

	// ephemeral keeps the data in an emptyDir: fast, and lost with the Pod. A lost
	// member is replaced from the others; losing a majority loses the data.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Ephemeral Storage",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=7
	Ephemeral *Ephemeral `json:"ephemeral,omitempty"`
}

// Ephemeral is storage that lives as long as its Pod.
type Ephemeral struct {
	// sizeLimit of each member's emptyDir; a Pod that outgrows it is evicted. Default
	// 2Gi. It cannot be changed later.
	// +optional
	// +kubebuilder:default="2Gi"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity(string(oldSelf))) == 0",message="storage.ephemeral.sizeLimit cannot be changed on an existing cluster"
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('64Mi')) >= 0",message="storage.ephemeral.sizeLimit must be at least 64Mi: etcd preallocates its write-ahead log in files of 64 MB"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Ephemeral Storage Limit",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=8
	SizeLimit resource.Quantity `json:"sizeLimit,omitzero"`
}

// Resources are the compute resources of one container.
//
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || self.requests.all(key, !(key in self.limits) || quantity(string(self.requests[key])).compareTo(quantity(string(self.limits[key]))) <= 0)",message="resources.requests must not be above resources.limits"
type Resources struct {
	// requests is what the scheduler reserves.
	// +optional
	// +kubebuilder:validation:MaxProperties=6
	// +kubebuilder:validation:XValidation:rule="self.all(key, isQuantity(string(self[key])) && quantity(string(self[key])).compareTo(quantity('0')) >= 0)",message="resources.requests must be quantities that are not negative, such as 500m or 1Gi"
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// limits is the most that may be used; a member above its memory limit is
	// killed and restarted with its data.
	// +optional
	// +kubebuilder:validation:MaxProperties=6
	// +kubebuilder:validation:XValidation:rule="self.all(key, isQuantity(string(self[key])) && quantity(string(self[key])).compareTo(quantity('0')) >= 0)",message="resources.limits must be quantities that are not negative, such as 500m or 1Gi"
	// +kubebuilder:validation:XValidation:rule="!('memory' in self) || !isQuantity(string(self['memory'])) || quantity(string(self['memory'])).compareTo(quantity('4Mi')) >= 0 || quantity(string(self['memory'])).compareTo(quantity('0')) == 0",message="resources.limits.memory must be at least 4Mi: nodes start no container with less"
	Limits corev1.ResourceList `json:"limits,omitempty"`
}

// DefaultRequestsText are the requests of new clusters, for people.
const DefaultRequestsText = "cpu 100m, memory 128Mi"

// defaultRequests are the requests of members of a new cluster whose spec says nothing of resources: what an etcd without load uses, and a
// share of a busy node with which it still answers heartbeats.
func defaultRequests() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")}
}

// UnmarshalJSON tells an empty object from none: it has requests, of nothing.
func (r *Resources) UnmarshalJSON(text []byte) error {
	type plain Resources
	if err := json.Unmarshal(text, (*plain)(r)); err != nil {
		return fmt.Errorf("decode resources: %w", err)
	}
	if r.Requests == nil && r.Limits == nil && string(text) != "null" {
		r.Requests = corev1.ResourceList{}
	}
	return nil
}

// Scheduling says on which nodes members may run.
type Scheduling struct {
	// nodeSelector limits members to nodes with all of these labels.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node Selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=32
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// affinity of the members' Pods.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.nodeAffinity) || !has(self.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution) || self.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution.all(each, each.weight >= 1 && each.weight <= 100)",message="scheduling.affinity.nodeAffinity must have weights from 1 to 100"
	// +kubebuilder:validation:XValidation:rule="!has(self.podAffinity) || !has(self.podAffinity.preferredDuringSchedulingIgnoredDuringExecution) || self.podAffinity.preferredDuringSchedulingIgnoredDuringExecution.all(each, each.weight >= 1 && each.weight <= 100)",message="scheduling.affinity.podAffinity must have weights from 1 to 100"
	// +kubebuilder:validation:XValidation:rule="!has(self.podAntiAffinity) || !has(self.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution) || self.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.all(each, each.weight >= 1 && each.weight <= 100)",message="scheduling.affinity.podAntiAffinity must have weights from 1 to 100"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Affinity",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=33
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// tolerations of the members' Pods.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(each, !has(each.operator) || each.operator in ['', 'Equal', 'Exists', 'Lt', 'Gt'])",message="scheduling.tolerations must have the operator Equal or Exists"
	// +kubebuilder:validation:XValidation:rule="self.all(each, !has(each.effect) || each.effect in ['', 'NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="scheduling.tolerations must have the effect NoSchedule, PreferNoSchedule or NoExecute, or none"
	// +kubebuilder:validation:XValidation:rule="self.all(each, has(each.key) && each.key != '' || has(each.operator) && each.operator == 'Exists')",message="scheduling.tolerations without a key must have the operator Exists"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=34
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// topologySpreadConstraints of the members' Pods. A constraint without a
	// labelSelector selects the members of this cluster. Default: spread over
	// hosts where possible.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:XValidation:rule="self.all(each, each.whenUnsatisfiable in ['DoNotSchedule', 'ScheduleAnyway'])",message="scheduling.topologySpreadConstraints must have whenUnsatisfiable DoNotSchedule or ScheduleAnyway"
	// +kubebuilder:validation:XValidation:rule="self.all(each, each.maxSkew >= 1 && each.maxSkew <= 2147483647 && (!has(each.minDomains) || each.minDomains >= 1 && each.minDomains <= 2147483647))",message="scheduling.topologySpreadConstraints must have a maxSkew and, if given, minDomains of at least 1 and at most 2147483647"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Topology Spread",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=35
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// priorityClassName of the members' Pods.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Priority Class",xDescriptors={"urn:alm:descriptor:io.kubernetes:PriorityClass","urn:alm:descriptor:com.tectonic.ui:advanced"},order=36
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// PodMetadata is added to the members' Pods.
type PodMetadata struct {
	// labels to add. Keys of the operator and of app.kubernetes.io are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="podMetadata.labels must have keys as Kubernetes wants them, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, self[key].size() <= 63)",message="podMetadata.labels must have values of at most 63 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('etcd-operator.dev/') && !key.startsWith('app.kubernetes.io/'))",message="podMetadata.labels must not begin with etcd-operator.dev/ or app.kubernetes.io/: the operator finds its Pods by those"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Labels of Pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=38
	Labels map[string]string `json:"labels,omitempty"`

	// annotations to add. Keys of the operator are refused.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="podMetadata.annotations must have keys as Kubernetes wants them, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('etcd-operator.dev/'))",message="podMetadata.annotations must not begin with etcd-operator.dev/: those are the operator's"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations of Pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=39
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ImagePullSecret names a Secret of type kubernetes.io/dockerconfigjson in the same namespace, as in a Pod.
type ImagePullSecret struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="imagePullSecrets must have names of Secrets: lower case letters, digits, '-' and '.'"
	Name string `json:"name"`
}

// PullSecrets are those of spec.imagePullSecrets, as a Pod has them; nil if there are none.
func (c *EtcdCluster) PullSecrets() []corev1.LocalObjectReference {
	var all []corev1.LocalObjectReference
	for _, secret := range c.Spec.ImagePullSecrets {
		all = append(all, corev1.LocalObjectReference{Name: secret.Name})
	}
	return all
}
