// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// MemberService is how clients reach the Services <member>-external, one for each member.
//
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || has(self.type) && self.type == 'LoadBalancer'",fieldPath=".loadBalancerClass",message="clientService.perMember.loadBalancerClass needs type LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerSourceRanges) || has(self.type) && self.type == 'LoadBalancer'",fieldPath=".loadBalancerSourceRanges",message="clientService.perMember.loadBalancerSourceRanges needs type LoadBalancer; networkPolicy.clients limits clients of every type"
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || has(self.type) && self.type != 'ClusterIP'",fieldPath=".externalTrafficPolicy",message="clientService.perMember.externalTrafficPolicy needs type NodePort or LoadBalancer: a ClusterIP has no traffic from outside"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !has(oldSelf.type) || self.type != 'LoadBalancer' || oldSelf.type != 'LoadBalancer' || has(self.loadBalancerClass) == has(oldSelf.loadBalancerClass) && (!has(self.loadBalancerClass) || self.loadBalancerClass == oldSelf.loadBalancerClass)",fieldPath=".loadBalancerClass",message="clientService.perMember.loadBalancerClass cannot be changed, added or removed while the type is LoadBalancer, as in a Service of Kubernetes: set the type to ClusterIP, and then to LoadBalancer with the other class"
type MemberService struct {
	// type is ClusterIP, NodePort or LoadBalancer, as clientService.type. Default ClusterIP.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Type of Members' Services",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:ClusterIP","urn:alm:descriptor:com.tectonic.ui:select:NodePort","urn:alm:descriptor:com.tectonic.ui:select:LoadBalancer","urn:alm:descriptor:com.tectonic.ui:advanced"},order=181
	Type ClientServiceType `json:"type,omitempty"`

	// annotations of the Services. $(MEMBER) in a value is the name of the member. Keys of the operator are refused. Annotations that others
	// have added stay.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="clientService.perMember.annotations must have keys as Kubernetes wants them, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('etcd-operator.dev/'))",message="clientService.perMember.annotations must not begin with etcd-operator.dev/: those are the operator's"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations of Members' Services",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=182
	Annotations map[string]string `json:"annotations,omitempty"`

	// labels of the Services. Keys of the operator and of app.kubernetes.io are refused. Labels that others have added stay.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="clientService.perMember.labels must have keys as Kubernetes wants them, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('etcd-operator.dev/') && !key.startsWith('app.kubernetes.io/'))",message="clientService.perMember.labels must not begin with etcd-operator.dev/ or app.kubernetes.io/: the operator finds its objects by those"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Labels of Members' Services",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=183
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// loadBalancerClass, as clientService.loadBalancerClass.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="clientService.perMember.loadBalancerClass must be a name as Kubernetes wants it, such as internal-vip or example.com/internal-vip"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Load Balancer Class of Members' Services",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=184
	LoadBalancerClass string `json:"loadBalancerClass,omitempty"`

	// loadBalancerSourceRanges, as clientService.loadBalancerSourceRanges. Default: all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Source Ranges of Members' Load Balancers",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=185
	LoadBalancerSourceRanges []CIDR `json:"loadBalancerSourceRanges,omitempty"`

	// externalTrafficPolicy, as clientService.externalTrafficPolicy. Local spares a way over another node. Default: Cluster.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="External Traffic Policy of Members' Services",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Cluster","urn:alm:descriptor:com.tectonic.ui:select:Local","urn:alm:descriptor:com.tectonic.ui:advanced"},order=186
	ExternalTrafficPolicy ExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
}

// MemberServiceType is the type that the Services of single members are to have; empty if there are none.
func (c *EtcdCluster) MemberServiceType() ClientServiceType {
	switch {
	case c.Spec.ClientService == nil || c.Spec.ClientService.PerMember == nil:
		return ""
	case c.Spec.ClientService.PerMember.Type == "":
		return ClientServiceClusterIP
	default:
		return c.Spec.ClientService.PerMember.Type
	}
}

// MemberServiceOf is the name of the Service of one member.
func MemberServiceOf(member string) string { return member + "-external" }
