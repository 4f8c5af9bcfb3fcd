// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Network says by which families of IP addresses the Services of the cluster are reached, and members by the names of their Pods.
//
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamilies) || self.ipFamilies.size() < 2 || self.ipFamilies[0] != self.ipFamilies[1]",fieldPath=".ipFamilies",message="network.ipFamilies must name a family once"
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamilies) || self.ipFamilies.size() < 2 || self.ipFamilyPolicy != 'SingleStack'",fieldPath=".ipFamilies",message="network.ipFamilies may name two families with network.ipFamilyPolicy PreferDualStack or RequireDualStack"
// +kubebuilder:validation:XValidation:rule="!has(self.ipFamilies) || !has(oldSelf.ipFamilies) || self.ipFamilies[0] == oldSelf.ipFamilies[0]",fieldPath=".ipFamilies",message="the first of network.ipFamilies cannot be changed, as in a Service of Kubernetes; the second may be added and removed"
type Network struct {
	// ipFamilyPolicy is SingleStack, PreferDualStack (both families, where the Kubernetes cluster has both) or RequireDualStack.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="IP Family Policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:SingleStack","urn:alm:descriptor:com.tectonic.ui:select:PreferDualStack","urn:alm:descriptor:com.tectonic.ui:select:RequireDualStack","urn:alm:descriptor:com.tectonic.ui:advanced"},order=190
	IPFamilyPolicy IPFamilyPolicy `json:"ipFamilyPolicy"`

	// ipFamilies are the families, the first one first. Default: those of the Kubernetes cluster, in its order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="IP Families",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=191
	IPFamilies []IPFamily `json:"ipFamilies,omitempty"`
}

// IPFamilyPolicy says how many families a Service has.
// +kubebuilder:validation:Enum=SingleStack;PreferDualStack;RequireDualStack
type IPFamilyPolicy string

const (
	// SingleStack is one family.
	SingleStack IPFamilyPolicy = "SingleStack"
	// PreferDualStack is both, where there are both.
	PreferDualStack IPFamilyPolicy = "PreferDualStack"
	// RequireDualStack is both.
	RequireDualStack IPFamilyPolicy = "RequireDualStack"
)

// IPFamily is a family of IP addresses.
// +kubebuilder:validation:Enum=IPv4;IPv6
type IPFamily string

const (
	// IPv4 has addresses such as 192.0.2.7.
	IPv4 IPFamily = "IPv4"
	// IPv6 has addresses such as 2001:db8::7.
	IPv6 IPFamily = "IPv6"
)
