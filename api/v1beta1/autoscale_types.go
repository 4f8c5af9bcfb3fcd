// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Autoscale lets the operator give members more of a processor and of memory than spec.resources. Running Pods are resized: no member
// restarts or moves for it. What they were given they keep.
//
// +kubebuilder:validation:XValidation:rule="has(self.max.cpu) || has(self.max.memory)",message="autoscale.max needs cpu, memory or both"
type Autoscale struct {
	// max is the most that members get: of what spec.resources has a limit or a request for. A limit is raised where there is one, and the
	// request with it in the same proportion.
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Largest Resources",order=132
	Max AutoscaleMax `json:"max"`

	// stabilizationWindow was for how long members had to need less before resources were taken away again, which is no longer done.
	//
	// Deprecated: nothing depends on it. It is kept for manifests of v0.8.0.
	// +optional
	StabilizationWindow string `json:"stabilizationWindow,omitempty"`
}

// AutoscaleMax is the most that each member gets.
type AutoscaleMax struct {
	// cpu that a member gets at most, such as 4.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Largest CPU",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=133
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory that a member gets at most, such as 8Gi.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Largest Memory",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=134
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// AutoscaleStatus is what autoscale has made of spec.resources.
type AutoscaleStatus struct {
	// cpu that each member has, if that is more than by spec.resources.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="CPU of a Member",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=132
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory that each member has, if that is more than by spec.resources.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Memory of a Member",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=133
	Memory *resource.Quantity `json:"memory,omitempty"`

	// since is when that was decided.
	// +optional
	Since metav1.Time `json:"since,omitzero"`

	// refused says why a member could not have that: it runs with what it had, the others have it, and none is given more until it has. What
	// Kubernetes has refused is asked for again after an hour.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Why There Is No More",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=134
	Refused string `json:"refused,omitempty"`
}

// Computing is how much of a processor, in thousandths, or of memory, in bytes, a member is given: by spec.resources, its limit or else its
// request; now; and at most. All are 0 if autoscale does not count for it.
type Computing struct{ Least, Now, Most int64 }

// Computing is what autoscale makes of one resource.
func (c *EtcdCluster) Computing(of corev1.ResourceName) Computing {
	scale, status := c.Spec.Autoscale, ptr.Deref(c.Status.Autoscale, AutoscaleStatus{})
	if scale == nil {
		return Computing{}
	}
	most, now := scale.Max.CPU, status.CPU
	if of == corev1.ResourceMemory {
		most, now = scale.Max.Memory, status.Memory
	}
	least, given := c.Spec.Resources.Limits[of]
	if !given {
		least, given = c.Spec.Resources.Requests[of]
	}
	if most == nil || !given || most.Cmp(least) < 0 || least.Sign() <= 0 {
		return Computing{}
	}
	is := Computing{Least: AmountOf(of, least), Most: AmountOf(of, *most)}
	is.Now = is.Least
	if now != nil {
		is.Now = min(max(is.Least, AmountOf(of, *now)), is.Most)
	}
	return is
}

// AmountOf is a quantity in thousandths of a processor, or in bytes of memory.
func AmountOf(of corev1.ResourceName, quantity resource.Quantity) int64 {
	if of == corev1.ResourceMemory {
		return quantity.Value()
	}
	return quantity.MilliValue()
}

// QuantityOf is an amount of a processor, in thousandths, or of memory, in bytes.
func QuantityOf(of corev1.ResourceName, amount int64) resource.Quantity {
	if of == corev1.ResourceMemory {
		return *resource.NewQuantity(amount, resource.BinarySI)
	}
	return *resource.NewMilliQuantity(amount, resource.DecimalSI)
}

// IsScaled says whether members are given more than spec.resources.
func (c *EtcdCluster) IsScaled() bool {
	cpu, memory := c.Computing(corev1.ResourceCPU), c.Computing(corev1.ResourceMemory)
	return cpu.Now > cpu.Least || memory.Now > memory.Least
}

// MemberResources are those that members run with: spec.resources, and what autoscale has made of them. Without spec.resources they are
// what was decided as the cluster formed.
func (c *EtcdCluster) MemberResources() Resources {
	spec := c.Spec.Resources
	if spec.Requests == nil && spec.Limits == nil && c.Status.Bootstrap != nil && c.Status.Bootstrap.Requests {
		return Resources{Requests: defaultRequests()}
	}
	if !c.IsScaled() {
		return spec
	}
	given := Resources{Requests: maps.Clone(c.Spec.Resources.Requests), Limits: maps.Clone(c.Spec.Resources.Limits)}
	for _, of := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		is := c.Computing(of)
		for _, list := range []corev1.ResourceList{given.Requests, given.Limits} {
			if was, there := list[of]; there && is.Now > is.Least {
				list[of] = QuantityOf(of, scaled(AmountOf(of, was), is))
			}
		}
	}
	return given
}

// scaled is an amount in proportion to what is the least.
func scaled(amount int64, by Computing) int64 {
	if amount == by.Least {
		return by.Now
	}
	return int64(float64(amount) * float64(by.Now) / float64(by.Least))
}
