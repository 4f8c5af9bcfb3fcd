// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TLS says how connections are secured, and where certificates come from: from authorities that the operator makes, unless
// another source is named.
//
// +kubebuilder:validation:XValidation:rule="!has(self.secretRefs) || !has(self.mode) || self.mode != 'Disabled'",fieldPath=".secretRefs",message="tls.secretRefs needs tls.mode Enabled: without TLS there are no certificates"
// +kubebuilder:validation:XValidation:rule="!has(self.secretRefs) || !has(self.lifetimes) || !has(self.lifetimes.authority) && !has(self.lifetimes.certificate)",fieldPath=".lifetimes",message="tls.lifetimes is for certificates that the operator makes: those of tls.secretRefs live as long as whoever issues them says"
// +kubebuilder:validation:XValidation:rule="!has(self.issuerRef) || !has(self.mode) || self.mode != 'Disabled'",fieldPath=".issuerRef",message="tls.issuerRef needs tls.mode Enabled: without TLS there are no certificates"
// +kubebuilder:validation:XValidation:rule="!has(self.issuerRef) || !has(self.secretRefs)",fieldPath=".secretRefs",message="tls names either an issuerRef or secretRefs: certificates have one source"
// +kubebuilder:validation:XValidation:rule="!has(self.issuerRef) || !has(self.lifetimes) || !has(self.lifetimes.authority)",fieldPath=".lifetimes",message="tls.lifetimes.authority is for authorities that the operator makes: that of tls.issuerRef lives as long as it does"
// +kubebuilder:validation:XValidation:rule="!has(self.issuerRef) || !has(self.lifetimes) || !has(self.lifetimes.certificate) || duration(self.lifetimes.certificate) >= duration('1h')",fieldPath=".lifetimes",message="tls.lifetimes.certificate must be at least 1h with tls.issuerRef: cert-manager issues none for less"
// +kubebuilder:validation:XValidation:rule="!has(self.revocations) || self.revocations.size() == 0 || !has(self.mode) || self.mode != 'Disabled'",fieldPath=".revocations",message="tls.revocations needs tls.mode Enabled: without TLS nobody shows a certificate"
// +kubebuilder:validation:XValidation:rule="!has(self.revocations) || self.revocations.size() == 0 || !has(self.secretRefs) && !has(self.issuerRef)",fieldPath=".revocations",message="tls.revocations is about certificates that an authority of the operator has signed: with tls.secretRefs or tls.issuerRef have whoever issues certificates begin with another authority, and members refuse all that the one before has signed"
// +kubebuilder:validation:XValidation:rule="!has(self.extraSANs) || self.extraSANs.size() == 0 || !has(self.mode) || self.mode != 'Disabled'",fieldPath=".extraSANs",message="tls.extraSANs needs tls.mode Enabled: without TLS there are no certificates"
// +kubebuilder:validation:XValidation:rule="!has(self.extraSANs) || self.extraSANs.size() == 0 || !has(self.secretRefs)",fieldPath=".extraSANs",message="tls.extraSANs is for certificates that the operator makes or asks cert-manager for: with tls.secretRefs have whoever issues the certificate of server add the names"
// +kubebuilder:validation:XValidation:rule="!has(self.minVersion) || !has(self.mode) || self.mode != 'Disabled'",fieldPath=".minVersion",message="tls.minVersion needs tls.mode Enabled: without TLS there is no version"
type TLS struct {
	// mode is Enabled (TLS with client certificates required, for clients and
	// between members) or Disabled
	// (plain text, for tests only). It may be changed once the cluster has formed: every member restarts twice, one at a time, and
	// serves clients of both modes in between, for clientWindow. Authentication is disabled before TLS is. Default Enabled.
	// +optional
	// +kubebuilder:default=Enabled
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS Mode",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Enabled","urn:alm:descriptor:com.tectonic.ui:select:Disabled"},order=21
	Mode TLSMode `json:"mode,omitempty"`

	// clientWindow is for how long members serve clients of both modes after a change of mode: from when status.endpoint and the Secret
	// <cluster>-client have the other scheme. Then clients that still use the mode before are refused. It may be changed meanwhile. Default
	// 10m; 0s for none, at most 168h, a week: authorities are not rotated meanwhile.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('168h')",message="tls.clientWindow must be from 0s to 168h, a week"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Window for Clients to change the Mode of TLS",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=191
	ClientWindow *metav1.Duration `json:"clientWindow,omitempty"`
	// minVersion is the lowest version of TLS that members accept: "1.3", or "1.2" for clients that know no other. A change restarts
	// members, one at a time. Members among each other, the operator and backups use 1.3 in any case. Default "1.3".
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Lowest TLS Version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:1.3","urn:alm:descriptor:com.tectonic.ui:select:1.2","urn:alm:descriptor:com.tectonic.ui:advanced"},order=179
	MinVersion TLSVersion `json:"minVersion,omitempty"`

	// lifetimes say how long certificates are valid that are made from now on.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Lifetimes of Certificates",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=60
	Lifetimes Lifetimes `json:"lifetimes,omitzero"`

	// revocations are the certificates of clients that members refuse, by their serial numbers: those whose
	// keys have leaked. What the operator itself keeps in a Secret and is named here, it issues again. Members refuse
	// new connections as soon as their kubelets have brought them the list, within a minute and a half; then they restart,
	// one at a time, because connections that are open already would stay so. To remove one restarts no member.
	// At most 256.
	// +optional
	// +listType=map
	// +listMapKey=serial
	// +kubebuilder:validation:MaxItems=256
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Revoked Certificates",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=63
	Revocations []Revocation `json:"revocations,omitempty"`

	// extraSANs are further DNS names and IP addresses for the certificate that members show to clients: those by which clients outside of the
	// Kubernetes cluster connect. Names below .svc are refused. It has by itself the names of the Services, localhost, and the addresses in
	// status.externalEndpoints, except those of nodes. Members have another certificate within a minute and a half of a change, and do not
	// restart. At most 32.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Further Names in the Certificate",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=144
	ExtraSANs []SAN `json:"extraSANs,omitempty"`

	// secretRefs has certificates come from Secrets that a person or another tool keeps. The operator verifies what they hold, and
	// gives members only what serves. It may be added, changed and removed while the cluster runs: every member restarts twice, one at a
	// time, and for a while both authorities are trusted. Default: the operator has authorities of its own.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Certificates from Secrets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=66
	SecretRefs *SecretRefs `json:"secretRefs,omitempty"`

	// issuerRef has cert-manager issue the certificates: the operator creates the Certificates <cluster>-server, -peer, -operator
	// and -client, and takes what is issued as it takes secretRefs. It may be added, changed and removed while the cluster runs.
	// Its authority must sign for this cluster alone: a client certificate by it with the common name root is root here,
	// even if it was issued for another EtcdCluster, as a ClusterIssuer does. Default: the operator has authorities of its own.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Issuer of cert-manager",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=71
	IssuerRef *IssuerRef `json:"issuerRef,omitempty"`
}

// Lifetimes say how long certificates are valid. Each is replaced, without a gap, when a third of its life is left.
//
// +kubebuilder:validation:XValidation:rule="duration(has(self.authority) ? self.authority : '87600h') > duration(has(self.certificate) ? self.certificate : '8760h')",fieldPath=".authority",message="tls.lifetimes.authority must be longer than tls.lifetimes.certificate (a year if it is not given): no certificate outlives the authority that has signed it"
type Lifetimes struct {
	// authority is how long an authority is valid, for clients and for peers. Default 87600h, ten years; at
	// least 30m: a third of it must be enough to restart every member, one after the other. A change holds for
	// the next authority that is made.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('30m')",message="tls.lifetimes.authority must be at least 30m: a third of it must be enough to restart every member, one after the other"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('876000h')",message="tls.lifetimes.authority must be at most 876000h, a hundred years"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Lifetime of Authorities",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=61
	Authority metav1.Duration `json:"authority,omitzero"`

	// certificate is how long certificates of members and of clients are valid. Default 8760h, a year; at
	// least 12m: the operator looks once in a minute and a half, kubelets take as long to bring another one into Pods, and
	// a third of it must be enough for both. A shorter one holds at once, a longer one for the next certificate that is made.
	// No member restarts for it.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('12m')",message="tls.lifetimes.certificate must be at least 12m: a third of it must be enough to bring another certificate into Pods"
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('87600h')",message="tls.lifetimes.certificate must be at most 87600h, ten years"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Lifetime of Certificates",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=62
	Certificate metav1.Duration `json:"certificate,omitzero"`
}

// TLSVersion is a version of TLS.
// +kubebuilder:validation:Enum="1.2";"1.3"
type TLSVersion string

const (
	// TLS12 is accepted beside 1.3.
	TLS12 TLSVersion = "1.2"
	// TLS13 is the only one that is accepted.
	TLS13 TLSVersion = "1.3"
)

// TLSMode turns TLS on or off.
// +kubebuilder:validation:Enum=Enabled;Disabled
type TLSMode string

const (
	// TLSEnabled secures every connection with TLS.
	TLSEnabled TLSMode = "Enabled"
	// TLSDisabled leaves every connection in plain text.
	TLSDisabled TLSMode = "Disabled"
)
