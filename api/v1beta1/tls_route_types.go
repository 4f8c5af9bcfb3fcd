// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// TLSRoute says which Gateways send clients to the Service <cluster>-client.
type TLSRoute struct {
	// parentRefs are the Gateways, and the listeners of theirs.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Gateways",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=188
	ParentRefs []RouteParent `json:"parentRefs"`

	// hostnames are the server names by which a Gateway finds the cluster. Members have them in their certificate.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Host Names of the Route",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=189
	Hostnames []Hostname `json:"hostnames"`
}

// RouteParent is a Gateway that a route is attached to.
type RouteParent struct {
	// name of the Gateway.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="clientService.tlsRoute.parentRefs must have names of Gateways: lower case letters, digits, '-' and '.'"
	Name string `json:"name"`

	// namespace of the Gateway. Default: that of the EtcdCluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="clientService.tlsRoute.parentRefs must have namespaces as Kubernetes names them: lower case letters, digits and '-'"
	Namespace string `json:"namespace,omitempty"`

	// sectionName is the listener of the Gateway. Default: all that take TLSRoutes.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="clientService.tlsRoute.parentRefs must have sectionNames as Gateways name listeners: lower case letters, digits, '-' and '.'"
	SectionName string `json:"sectionName,omitempty"`

	// port of the listener. Default: any.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// Hostname is a DNS name, which may begin with *.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self.matches('^([*][.])?([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?[.])*[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')",message="clientService.tlsRoute.hostnames must be DNS names in lower case, which may begin with *., and no addresses: etcd.example.com or *.etcd.example.com"
// +kubebuilder:validation:XValidation:rule="!self.matches('[.]svc([.]|$)')",message="clientService.tlsRoute.hostnames must not be names below .svc: members have them in their certificate, and would be taken for members or clients of another cluster"
type Hostname string

// ConditionRouteAccepted is True while every Gateway that clientService.tlsRoute names takes the TLSRoute. An EtcdCluster has it only with
// clientService.tlsRoute.
const ConditionRouteAccepted = "RouteAccepted"

// Reasons of ConditionRouteAccepted.
const (
	// ReasonRouteAccepted: all take it.
	ReasonRouteAccepted = "Accepted"
	// ReasonGatewayAPIMissing: Kubernetes knows no TLSRoutes, or the operator may not read them.
	ReasonGatewayAPIMissing = "GatewayAPIMissing"
	// ReasonRoutePending: it is not as wanted yet, or not every Gateway has said whether it takes it.
	ReasonRoutePending = "RoutePending"
	// ReasonRouteRefused: a Gateway does not take it, or does not find what it leads to.
	ReasonRouteRefused = "RouteRefused"
)

// Route is what is asked for as a TLSRoute; nil if nothing is.
func (c *EtcdCluster) Route() *TLSRoute {
	if c.Spec.ClientService == nil {
		return nil
	}
	return c.Spec.ClientService.TLSRoute
}
