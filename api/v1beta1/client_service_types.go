// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// ClientService is the Service <cluster>-client, by which clients connect.
//
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerClass) || has(self.type) && self.type == 'LoadBalancer'",fieldPath=".loadBalancerClass",message="clientService.loadBalancerClass needs clientService.type LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.loadBalancerSourceRanges) || has(self.type) && self.type == 'LoadBalancer'",fieldPath=".loadBalancerSourceRanges",message="clientService.loadBalancerSourceRanges needs clientService.type LoadBalancer; networkPolicy.clients limits clients of every type"
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || has(self.type) && self.type != 'ClusterIP'",fieldPath=".externalTrafficPolicy",message="clientService.externalTrafficPolicy needs clientService.type NodePort or LoadBalancer: a ClusterIP has no traffic from outside"
// +kubebuilder:validation:XValidation:rule="!has(self.nodePort) || has(self.type) && self.type != 'ClusterIP'",fieldPath=".nodePort",message="clientService.nodePort needs clientService.type NodePort or LoadBalancer"
// +kubebuilder:validation:XValidation:rule="!has(self.type) || !has(oldSelf.type) || self.type != 'LoadBalancer' || oldSelf.type != 'LoadBalancer' || has(self.loadBalancerClass) == has(oldSelf.loadBalancerClass) && (!has(self.loadBalancerClass) || self.loadBalancerClass == oldSelf.loadBalancerClass)",fieldPath=".loadBalancerClass",message="clientService.loadBalancerClass cannot be changed, added or removed while the type is LoadBalancer, as in a Service of Kubernetes: set the type to ClusterIP, and then to LoadBalancer with the other class"
type ClientService struct {
	// type is ClusterIP (clients connect from within the Kubernetes cluster), NodePort (also by a port of every node) or LoadBalancer
	// (also by an address that a load balancer has, which something in the Kubernetes cluster must assign). Default ClusterIP.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Type of the Client Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:ClusterIP","urn:alm:descriptor:com.tectonic.ui:select:NodePort","urn:alm:descriptor:com.tectonic.ui:select:LoadBalancer"},order=137
	Type ClientServiceType `json:"type,omitempty"`

	// annotations of the Service, such as those by which a load balancer is configured. Keys of the operator are refused. Annotations that
	// others have added stay.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="clientService.annotations must have keys as Kubernetes wants them, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('etcd-operator.dev/'))",message="clientService.annotations must not begin with etcd-operator.dev/: those are the operator's"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Annotations of the Client Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=138
	Annotations map[string]string `json:"annotations,omitempty"`

	// labels of the Service, such as those by which a pool of addresses is chosen. Keys of the operator and of app.kubernetes.io are
	// refused. Labels that others have added stay.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="clientService.labels must have keys as Kubernetes wants them, such as team or example.com/team"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !key.startsWith('etcd-operator.dev/') && !key.startsWith('app.kubernetes.io/'))",message="clientService.labels must not begin with etcd-operator.dev/ or app.kubernetes.io/: the operator finds its objects by those"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Labels of the Client Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=139
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// loadBalancerClass says which implementation of load balancers is meant, such as example.com/internal. It is fixed while the type is
	// LoadBalancer. Default: the one that the Kubernetes cluster has by default.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="clientService.loadBalancerClass must be a name as Kubernetes wants it, such as internal-vip or example.com/internal-vip"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Load Balancer Class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=140
	LoadBalancerClass string `json:"loadBalancerClass,omitempty"`

	// loadBalancerSourceRanges are the blocks of addresses that the load balancer lets in, if it can limit them. Default: all.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Source Ranges of the Load Balancer",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=141
	LoadBalancerSourceRanges []CIDR `json:"loadBalancerSourceRanges,omitempty"`

	// externalTrafficPolicy is Cluster (every node takes connections from outside, and members may see the address of a node instead of the
	// client's) or Local (only nodes with a member do, and members see the client's address). Default: that of Kubernetes, Cluster.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="External Traffic Policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Cluster","urn:alm:descriptor:com.tectonic.ui:select:Local","urn:alm:descriptor:com.tectonic.ui:advanced"},order=142
	ExternalTrafficPolicy ExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`

	// nodePort is the port of every node that leads to the Service. It must be free, and of the range that the Kubernetes cluster has for
	// them: 30000 to 32767, unless its administrator has chosen another one. Default: one that Kubernetes chooses.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node Port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number","urn:alm:descriptor:com.tectonic.ui:advanced"},order=143
	NodePort int32 `json:"nodePort,omitempty"`

	// perMember gives each member a Service of its own, <member>-external, beside the Service <cluster>-client: for clients that choose a
	// member themselves. Services come and go with members. Default: there are none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service for Each Member",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=180
	PerMember *MemberService `json:"perMember,omitempty"`

	// tlsRoute has a TLSRoute of the Gateway API made, <cluster>-client: a Gateway then sends TLS connections by their server name to
	// members, and does not end TLS. It needs TLSRoutes of gateway.networking.k8s.io/v1. Default: there is none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS Route",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=187
	TLSRoute *TLSRoute `json:"tlsRoute,omitempty"`
}

// ClientServiceType says from where clients can connect.
// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
type ClientServiceType string

const (
	// ClientServiceClusterIP is an address within the Kubernetes cluster alone.
	ClientServiceClusterIP ClientServiceType = "ClusterIP"
	// ClientServiceNodePort is a port of every node, too.
	ClientServiceNodePort ClientServiceType = "NodePort"
	// ClientServiceLoadBalancer is the address of a load balancer, too.
	ClientServiceLoadBalancer ClientServiceType = "LoadBalancer"
)

// ExternalTrafficPolicy says which nodes take connections from outside.
// +kubebuilder:validation:Enum=Cluster;Local
type ExternalTrafficPolicy string

// SAN is a name or an address by which clients connect, and which they find in the members' certificate.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^([*][.])?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?[.])*[a-z]([-a-z0-9]{0,61}[a-z0-9])?$') || self.matches('^(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])([.](25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])){3}$') || self.matches('^([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}$|^([0-9a-fA-F]{1,4}:){1,7}:$|^([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}$|^([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){2}$|^([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){3}$|^([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){4}$|^([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){5}$|^[0-9a-fA-F]{1,4}:(:[0-9a-fA-F]{1,4}){6}$|^:((:[0-9a-fA-F]{1,4}){1,7}|:)$')",message="an entry of tls.extraSANs must be a DNS name in lower case, which may begin with *., or an IP address, without a scheme or a port: etcd.example.com, *.etcd.example.com, 203.0.113.7 or 2001:db8::7"
// +kubebuilder:validation:XValidation:rule="!self.matches('[.]svc([.]|$)')",message="an entry of tls.extraSANs must not be a name below .svc: the certificate has those of this cluster's Services by itself, and by those of others its members would be taken for members or clients of another cluster"
type SAN string

// ExternalEndpoint is an address by which clients outside of the Kubernetes cluster connect.
type ExternalEndpoint struct {
	// address is host:port.
	Address string `json:"address"`

	// member is the one that is reached, by a Service of its own; empty: any.
	// +optional
	Member string `json:"member,omitempty"`

	// source says where the address comes from: LoadBalancer and ExternalIP are in the members' certificate by themselves; Node, the
	// address of a node that a member runs on, is not.
	// +optional
	Source EndpointSource `json:"source,omitempty"`
}

// EndpointSource says where an address comes from.
// +kubebuilder:validation:Enum=LoadBalancer;ExternalIP;Node
type EndpointSource string

const (
	// FromLoadBalancer: a load balancer has it.
	FromLoadBalancer EndpointSource = "LoadBalancer"
	// FromExternalIP: it is one of spec.externalIPs of the Service.
	FromExternalIP EndpointSource = "ExternalIP"
	// FromNode: it is a node's.
	FromNode EndpointSource = "Node"
)

// ConditionAddressAssigned is True while the load balancers of the client Service, and of each member's, have an address. An EtcdCluster
// has it only with type LoadBalancer, of clientService or of clientService.perMember.
const ConditionAddressAssigned = "AddressAssigned"

// Reasons of ConditionAddressAssigned.
const (
	// ReasonAddressAssigned: it has one.
	ReasonAddressAssigned = "Assigned"
	// ReasonAddressPending: it has none yet.
	ReasonAddressPending = "AddressPending"
	// ReasonAddressMissing: it has had none for two minutes.
	ReasonAddressMissing = "AddressMissing"
)

// ClientServiceType is the type that the client Service is to have.
func (c *EtcdCluster) ClientServiceType() ClientServiceType {
	if c.Spec.ClientService == nil || c.Spec.ClientService.Type == "" {
		return ClientServiceClusterIP
	}
	return c.Spec.ClientService.Type
}
