// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// NetworkPolicy says which peers may reach the members over the network. A NetworkPolicy of Kubernetes says so to the network, which
// enforces it if its plugin does; the API does not show whether it does.
// +kubebuilder:validation:XValidation:rule="has(self.mode) && self.mode == 'Enabled' || !has(self.clients) && !has(self.metrics)",message="networkPolicy.clients and networkPolicy.metrics need networkPolicy.mode Enabled: without it they may have no effect"
type NetworkPolicy struct {
	// mode is Enabled (a NetworkPolicy lets members reach each other, clients and metrics reach members, and no other peer) or
	// Disabled (there is none: access to members is left to the network, and to policies of yours). Default: Enabled for an
	// EtcdCluster that this release of the operator or a later one has formed; one that an earlier release has formed is
	// left as it is. An operator that runs outside of Kubernetes cannot be named by a NetworkPolicy, and makes none by default.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network Policy Mode",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Enabled","urn:alm:descriptor:com.tectonic.ui:select:Disabled"},order=61
	Mode NetworkPolicyMode `json:"mode,omitempty"`

	// clients may reach the members' port for clients, 2379. The operator, the Jobs of its backups and the members themselves
	// always may. Default: every Pod of the namespace.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Clients",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=62
	Clients []NetworkPeer `json:"clients,omitempty"`

	// metrics may reach the members' port for metrics and probes, 2381, which is plain HTTP. The operator and the kubelet always
	// may. Default: no other peer.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Readers of Metrics",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=63
	Metrics []NetworkPeer `json:"metrics,omitempty"`
}

// NetworkPolicyMode says whether a NetworkPolicy is made.
// +kubebuilder:validation:Enum=Enabled;Disabled
type NetworkPolicyMode string

const (
	// NetworkPolicyEnabled makes one.
	NetworkPolicyEnabled NetworkPolicyMode = "Enabled"
	// NetworkPolicyDisabled makes none, and deletes the one that was made.
	NetworkPolicyDisabled NetworkPolicyMode = "Disabled"
)

// NetworkPeer is a set of Pods, or a block of addresses, as a NetworkPolicy of Kubernetes has them
// (https://kubernetes.io/docs/concepts/services-networking/network-policies/).
// +kubebuilder:validation:XValidation:rule="has(self.podSelector) || has(self.namespaceSelector) || has(self.ipBlock)",message="a peer of networkPolicy needs a podSelector, a namespaceSelector or an ipBlock; podSelector: {} is every Pod of the namespace"
// +kubebuilder:validation:XValidation:rule="!has(self.ipBlock) || !has(self.podSelector) && !has(self.namespaceSelector)",message="a peer of networkPolicy with an ipBlock goes without selectors: make two peers of it"
type NetworkPeer struct {
	// podSelector selects Pods of the EtcdCluster's namespace, or of those that namespaceSelector selects. Empty, {}, selects
	// all of them.
	// +optional
	PodSelector *NetworkSelector `json:"podSelector,omitempty"`

	// namespaceSelector selects namespaces by their labels, of which kubernetes.io/metadata.name is the name. Empty, {}, selects
	// all of them.
	// +optional
	NamespaceSelector *NetworkSelector `json:"namespaceSelector,omitempty"`

	// ipBlock is a block of addresses, for clients that are no Pods or share the network of a node, such as a kube-apiserver.
	// +optional
	IPBlock *NetworkBlock `json:"ipBlock,omitempty"`
}

// NetworkSelector selects by labels. All of its terms must hold.
type NetworkSelector struct {
	// matchLabels are labels with their values.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="matchLabels must have keys as Kubernetes wants them, such as team or example.com/team"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are terms about one label each.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	MatchExpressions []NetworkExpression `json:"matchExpressions,omitempty"`
}

// NetworkExpression is a term about one label.
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] == (has(self.values) && self.values.size() > 0)",message="matchExpressions must have values with the operators In and NotIn, and none with Exists and DoesNotExist"
type NetworkExpression struct {
	// key of the label.
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="the key of a label must be as Kubernetes wants it, such as team or example.com/team"
	Key string `json:"key"`

	// operator is In, NotIn, Exists or DoesNotExist.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator string `json:"operator"`

	// values of the label, for In and NotIn.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Values []LabelValue `json:"values,omitempty"`
}

// NetworkBlock is a block of addresses.
type NetworkBlock struct {
	// cidr is the block, such as 10.0.0.0/24 or 2001:db8::/64.
	CIDR CIDR `json:"cidr"`

	// except are blocks within it that are left out.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Except []CIDR `json:"except,omitempty"`
}

// CIDR is a block of addresses of IPv4 or IPv6.
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self.matches('^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])([.](25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])){3}/(3[0-2]|[12]?[0-9])|[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7}/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$')",message="a block of addresses must be such as 10.0.0.0/24 or 2001:db8::/64"
type CIDR string

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$')",message="the value of a label must have at most 63 letters, digits, '-', '_' and '.', with a letter or digit at each end"
type LabelValue string
