// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// SecretRefs name Secrets that hold certificates, in the namespace of the EtcdCluster. Each has the keys of type kubernetes.io/tls,
// tls.crt (with intermediate authorities, if there are any) and tls.key, and ca.crt with the authorities that are to be trusted.
// Their keys are ECDSA of 256 bits or more, Ed25519, or RSA of 2048 bits or more.
type SecretRefs struct {
	// server is what members show to clients: for servers and clients, with the DNS names
	// *.<cluster>.<namespace>.svc, <cluster>-client.<namespace>.svc and localhost. Its ca.crt is what members
	// and clients trust each other by: a client certificate by it with the common name root gives every permission.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret for the Client Port",order=67
	Server LocalSecret `json:"server"`

	// peer is what members show to each other: for servers and clients, with the DNS name
	// *.<cluster>.<namespace>.svc. Its ca.crt is what members trust each other by.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret for the Peer Port",order=68
	Peer LocalSecret `json:"peer"`

	// operator is what the operator, and its Jobs of backups, show to members: for clients, with the common
	// name root, signed by an authority in ca.crt of server.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret for the Operator",order=69
	Operator LocalSecret `json:"operator"`

	// client is what the Secret <cluster>-client has for applications: for clients, with any common name
	// but root, signed by an authority in ca.crt of server. Default: none; <cluster>-client then has only
	// endpoints and ca.crt.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret for Applications",order=70
	Client *LocalSecret `json:"client,omitempty"`
}

// IssuerRef names an issuer of cert-manager.
//
// +kubebuilder:validation:XValidation:rule="(has(self.group) ? self.group : 'cert-manager.io') != 'cert-manager.io' || (has(self.kind) ? self.kind : 'Issuer') in ['Issuer', 'ClusterIssuer']",fieldPath=".kind",message="tls.issuerRef.kind must be Issuer or ClusterIssuer: group cert-manager.io has no other"
type IssuerRef struct {
	// name is the name of the issuer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name of the Issuer",order=72
	Name string `json:"name"`

	// kind is Issuer (in the namespace of the EtcdCluster), ClusterIssuer, or that of an issuer of another group.
	// Default Issuer. EtcdClusters that share a ClusterIssuer trust each other's clients: root of one is root of all.
	// +optional
	// +kubebuilder:default=Issuer
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Kind of the Issuer",order=73
	Kind string `json:"kind,omitempty"`

	// group is the API group of the issuer. Default cert-manager.io.
	// +optional
	// +kubebuilder:default=cert-manager.io
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Group of the Issuer",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=74
	Group string `json:"group,omitempty"`

	// boundClients has members take only clients whose certificates have the DNS name client.<cluster>.<namespace>.svc, beside the
	// authority of the issuer: root and the users of another EtcdCluster that has certificates by the same ClusterIssuer are refused. All
	// certificates have it that the operator asks the issuer for, those of EtcdUsers as well; those that you have issued for
	// applications need it, too, and so does every client that still has a certificate from before issuerRef. Members restart for
	// it, one at a time. It does not help against a client that may have the issuer sign any name. Default false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Clients Are Bound to the Cluster",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch","urn:alm:descriptor:com.tectonic.ui:advanced"},order=75
	BoundClients bool `json:"boundClients,omitempty"`
}

// LocalSecret names a Secret in the namespace of the EtcdCluster.
type LocalSecret struct {
	// name is the name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="name must be the name of a Secret: lower case letters, digits, '-' and '.'"
	Name string `json:"name"`
}

// Reasons of ConditionCertificatesAccepted, with ReasonSecretMissing and ReasonSecretTaken. The condition Degraded says each but the first,
// too, with reason CertificatesNotAccepted.
const (
	// ReasonCertificatesAccepted: all Secrets that spec.tls names have certificates that serve. True.
	ReasonCertificatesAccepted = "Accepted"
	// ReasonSecretIncomplete: the Secret lacks tls.crt, tls.key or ca.crt.
	ReasonSecretIncomplete = "SecretIncomplete"
	// ReasonUnreadable: one of them is no certificate or key in PEM.
	ReasonUnreadable = "Unreadable"
	// ReasonKeyMismatch: tls.key is not the key of tls.crt, as in a Secret that is half written.
	ReasonKeyMismatch = "KeyMismatch"
	// ReasonWeakKey: a key or a signature is too weak.
	ReasonWeakKey = "WeakKey"
	// ReasonWrongAuthority: no authority in ca.crt has signed the certificate, or one there is none.
	ReasonWrongAuthority = "WrongAuthority"
	// ReasonExpired: the certificate, or an authority above it, is valid no more; or what members have has expired, and those in the
	// Secrets are by another authority.
	ReasonExpired = "Expired"
	// ReasonNotYetValid: the certificate, or an authority above it, is not valid yet.
	ReasonNotYetValid = "NotYetValid"
	// ReasonWrongName: a DNS name is missing, or the common name is not as it is to be.
	ReasonWrongName = "WrongName"
	// ReasonWrongUsage: the certificate is not for servers, or not for clients.
	ReasonWrongUsage = "WrongUsage"
	// ReasonCertManagerMissing: spec.tls.issuerRef names an issuer, and Kubernetes has no Certificates of cert-manager.
	ReasonCertManagerMissing = "CertManagerMissing"
	// ReasonNotIssued: cert-manager has not issued a certificate yet; the message quotes what it says.
	ReasonNotIssued = "NotIssued"
	// ReasonEndsSoon: a sixth of its life is left, and the certificate was not renewed. It still serves.
	ReasonEndsSoon = "EndsSoon"
)

// ConditionCertificatesAccepted is True while all certificates that spec.tls takes from Secrets serve. An EtcdCluster has it only where
// spec.tls names a source of certificates. While it is False, members go on with the certificates that they have.
const ConditionCertificatesAccepted = "CertificatesAccepted"

// ReasonCertificatesNotAccepted is a reason of ConditionDegraded: a Secret that spec.tls takes certificates from does not serve; the
// message says which, and what to do.
const ReasonCertificatesNotAccepted = "CertificatesNotAccepted"

// CertificateSecrets are the Secrets that certificates are taken from; nil if the operator makes its own.
func (c *EtcdCluster) CertificateSecrets() *SecretRefs {
	switch {
	case !c.HasCertificates():
		return nil
	case c.Spec.TLS.IssuerRef == nil:
		return c.Spec.TLS.SecretRefs
	}
	return &SecretRefs{
		Server: LocalSecret{c.Name + "-server-cert"}, Peer: LocalSecret{c.Name + "-peer-cert"},
		Operator: LocalSecret{c.Name + "-operator-cert"}, Client: &LocalSecret{c.Name + "-client-cert"},
	}
}

// BindsClients says whether members take only clients whose certificates have the name of this cluster's clients.
func (c *EtcdCluster) BindsClients() bool {
	return c.HasCertificates() && c.Spec.TLS.IssuerRef != nil && c.Spec.TLS.IssuerRef.BoundClients
}

// HasRootSecret says whether the operator's own certificate is in a Secret: Jobs of backups mount it while authentication is enabled,
// and where no authority of ours could sign one when it is needed.
func (c *EtcdCluster) HasRootSecret() bool { return c.HasAuth() || c.CertificateSecrets() != nil }
