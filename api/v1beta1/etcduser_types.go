// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdUser is a user of etcd in one EtcdCluster of its namespace, for one application. The operator
// makes the user, gives it the roles, and keeps a Secret by which the application connects as this
// user, in the shape of the Service Binding specification (https://servicebinding.io/spec/core/1.0.0/).
// When the object is deleted, the user is deleted from etcd: its next request is refused, whatever
// certificate it has.
//
// What the roles allow holds once spec.auth.enabled is true in the EtcdCluster; before, etcd lets
// in every client that has a certificate.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdusers,singular=etcduser,shortName=eu,categories=etcd
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.cluster`
// +kubebuilder:printcolumn:name="User",type=string,JSONPath=`.status.user`
// +kubebuilder:printcolumn:name="Roles",type=string,JSONPath=`.spec.roles`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Serial",type=string,priority=1,JSONPath=`.status.serial`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +operator-sdk:csv:customresourcedefinitions:displayName="etcd User",resources={{Secret,v1},{Event,v1}},order=5
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters: it is the value of a label"
// +kubebuilder:validation:XValidation:rule="has(self.spec.userName) || self.metadata.name != 'root'",message="root is the user of the operator, and may do everything: choose another name"
type EtcdUser struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the identity and the permissions of the user.
	// +required
	Spec EtcdUserSpec `json:"spec"`

	// status is how the user was found in etcd.
	// +optional
	Status EtcdUserStatus `json:"status,omitzero"`
}

// EtcdUserList is a list of EtcdUsers.
//
// +kubebuilder:object:root=true
type EtcdUserList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdUser `json:"items"`
}

// EtcdUserSpec is the identity and the permissions of a user.
//
// +kubebuilder:validation:XValidation:rule="(has(self.secret) && has(self.secret.name)) == (has(oldSelf.secret) && has(oldSelf.secret.name)) && (!has(self.secret) || !has(self.secret.name) || self.secret.name == oldSelf.secret.name)",fieldPath=".secret",message="secret.name cannot be changed: the Secret of the old name would stay, with its key; create another EtcdUser"
// +kubebuilder:validation:XValidation:rule="!has(self.secret) || !has(self.secret.name) || !self.secret.name.startsWith(self.cluster + '-')",fieldPath=".secret",message="secret.name must not begin with the name of the cluster and a hyphen: Secrets of the operator are called so"
// +kubebuilder:validation:XValidation:rule="!has(self.secret) || !has(self.secret.keys) || self.secret.keys.all(k, k.value != 'Password') || has(self.authentication) && self.authentication == 'Password'",fieldPath=".secret",message="secret.keys has a Password, and the user has none: choose authentication Password, or leave the key out"
// +kubebuilder:validation:XValidation:rule="has(self.userName) == has(oldSelf.userName) && (!has(self.userName) || self.userName == oldSelf.userName)",fieldPath=".userName",message="userName cannot be changed: the user of the old name would stay in etcd; create another EtcdUser"
type EtcdUserSpec struct {
	// cluster is the EtcdCluster of this namespace that has the user. It cannot be changed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cluster cannot be changed: the user would stay in the old one; create another EtcdUser"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Cluster",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=1
	Cluster string `json:"cluster"`

	// userName is the name of the user in etcd, and the common name of its certificate. Default: the
	// name of this object. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self != 'root'",message="root is the user of the operator, and may do everything: choose another name"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9]([-A-Za-z0-9._@/]*[A-Za-z0-9])?$')",message="userName must begin and end with a letter or digit, and have only letters, digits and -._@/ in between"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name in etcd",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	UserName string `json:"userName,omitempty"`

	// roles are the names of EtcdRoles of the same cluster. The user has these and no others.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Roles",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Roles []string `json:"roles,omitempty"`

	// authentication is how the user authenticates: Certificate (by the common name of the
	// certificate in its Secret; it has no password) or Password (by the password in its Secret; the
	// certificate beside it only opens the connection). It cannot be changed. Default Certificate.
	// +optional
	// +kubebuilder:default=Certificate
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="authentication cannot be changed: etcd decides when it adds a user whether it can have a password; create another EtcdUser"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authentication",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Certificate","urn:alm:descriptor:com.tectonic.ui:select:Password"},order=4
	Authentication EtcdAuthentication `json:"authentication,omitempty"`

	// secret says what the Secret of the user is called, and what it has beside the keys of the Service Binding specification, so that an
	// application mounts it as it is. Default: it is called <cluster>-user-<name>, and has no other keys.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=5
	Secret *EtcdUserSecret `json:"secret,omitempty"`
}

// EtcdUserSecret says what the Secret of a user is called, and which other keys it has.
type EtcdUserSecret struct {
	// name of the Secret, for applications that look for a certain one, such as cilium-etcd-secrets. A Secret of the name that is not of the
	// EtcdUser is left alone (SecretTaken). It cannot be changed. Default <cluster>-user-<name>.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="secret.name must be the name of a Secret: lower case letters, digits, '-' and '.'"
	// +kubebuilder:validation:XValidation:rule="!self.matches('-(client-ca|peer-ca|member-tls|client|root)$') && !self.contains('-user-') && !self.contains('-issued-')",message="secret.name must not end with -client-ca, -peer-ca, -member-tls, -client or -root, nor have -user- or -issued- in it: Secrets of the operator, for this cluster or another, are called so"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name of the Secret",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	Name string `json:"name,omitempty"`

	// keys are further keys of the Secret: the names under which an application looks for its files, or those of its environment variables.
	// They may be changed at any time. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Further Keys",order=7
	Keys []EtcdUserSecretKey `json:"keys,omitempty"`
}

// EtcdUserSecretKey is a further key of the Secret of a user.
type EtcdUserSecretKey struct {
	// key is its name, such as etcd-client-ca.crt or ETCD_URLS.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[_A-Za-z0-9][-._A-Za-z0-9]*$')",message="secret.keys.key must be the key of a Secret, and not begin with '.' or '-': letters, digits, '-', '_' and '.'"
	// +kubebuilder:validation:XValidation:rule="!(self in ['type', 'provider', 'host', 'port', 'username', 'password', 'endpoints', 'ca.crt', 'tls.crt', 'tls.key'])",message="secret.keys.key must not be a key of the Service Binding specification, which every Secret has: type, provider, host, port, username, password, endpoints, ca.crt, tls.crt or tls.key"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Key",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=8
	Key string `json:"key"`

	// value is what it has: CA (the authority of members), Certificate and PrivateKey of the user, in PEM; URL (https://host:port) or
	// Address (host:port) of the Service for clients; Username; or Password.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Value",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:CA","urn:alm:descriptor:com.tectonic.ui:select:Certificate","urn:alm:descriptor:com.tectonic.ui:select:PrivateKey","urn:alm:descriptor:com.tectonic.ui:select:URL","urn:alm:descriptor:com.tectonic.ui:select:Address","urn:alm:descriptor:com.tectonic.ui:select:Username","urn:alm:descriptor:com.tectonic.ui:select:Password"},order=9
	Value SecretValue `json:"value"`
}

// SecretValue is what a key of a Secret has.
// +kubebuilder:validation:Enum=CA;Certificate;PrivateKey;URL;Address;Username;Password
type SecretValue string

const (
	// ValueCA is the authority of members.
	ValueCA SecretValue = "CA"
	// ValueCertificate is the certificate of the user.
	ValueCertificate SecretValue = "Certificate"
	// ValuePrivateKey is its private key.
	ValuePrivateKey SecretValue = "PrivateKey"
	// ValueURL is where the user connects to, as a URL.
	ValueURL SecretValue = "URL"
	// ValueAddress is the same as a host and a port.
	ValueAddress SecretValue = "Address"
	// ValueUsername is the name of the user in etcd.
	ValueUsername SecretValue = "Username"
	// ValuePassword is its password.
	ValuePassword SecretValue = "Password"
)

// EtcdAuthentication is how a user authenticates.
// +kubebuilder:validation:Enum=Certificate;Password
type EtcdAuthentication string

const (
	// CertificateAuthentication is by the common name of a certificate.
	CertificateAuthentication EtcdAuthentication = "Certificate"
	// PasswordAuthentication is by a password, over a connection with a certificate that belongs to no etcd user.
	PasswordAuthentication EtcdAuthentication = "Password"
)

// EtcdUserStatus is how the user was found in etcd.
type EtcdUserStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed Generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=9
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions have Ready: whether the user in etcd and its Secret are as the spec says.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=1
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// user is the name of the user in etcd.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Name in etcd",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	User string `json:"user,omitempty"`

	// binding names the Secret with all that an application needs, for implementations of the Service
	// Binding specification.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Binding",order=3
	Binding *EtcdUserBinding `json:"binding,omitempty"`

	// serial is the serial number of the certificate that is in the Secret, in hexadecimal: by it the certificate is revoked
	// (spec.tls.revocations of the EtcdCluster).
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Serial Number of the Certificate",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	Serial string `json:"serial,omitempty"`

	// passwordVersion says to which cluster of etcd the operator has added the user, and which password etcd has: the ID of that cluster,
	// which is another one after it was brought back to a backup, and the resourceVersion of the Secret, or - without a password.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Version of the Password",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	PasswordVersion string `json:"passwordVersion,omitempty"`
}

// EtcdUserBinding names a Secret.
type EtcdUserBinding struct {
	// name of the Secret, in the namespace of the EtcdUser.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"},order=4
	Name string `json:"name"`
}

// User is the name of the user in etcd.
func (u *EtcdUser) User() string {
	if u.Spec.UserName != "" {
		return u.Spec.UserName
	}
	return u.Name
}

// HasPassword says whether the user authenticates by a password.
func (u *EtcdUser) HasPassword() bool { return u.Spec.Authentication == PasswordAuthentication }

// Secret is the name of the Secret by which the application connects.
func (u *EtcdUser) Secret() string {
	if s := u.Spec.Secret; s != nil && s.Name != "" {
		return s.Name
	}
	return u.Spec.Cluster + "-user-" + u.Name
}

// IssuedSecret is the name of the Secret that the certificate of the user is taken from if the authority of its cluster is external:
// of cert-manager, by a Certificate of the same name, or of the owner of the Secrets of spec.tls.secretRefs.
func (u *EtcdUser) IssuedSecret() string { return u.Spec.Cluster + "-issued-" + u.Name }
