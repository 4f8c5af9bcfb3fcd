// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// Auth is the authentication of clients by etcd.
type Auth struct {
	// enabled turns etcd's authentication on: only users of etcd may read and write keys, each what
	// its roles allow. Users are known by the common names of their certificates, or by passwords: see
	// EtcdUser and EtcdRole, which may be created before. The user root is the operator's. It may be
	// set back to false, which admits every client with a certificate again; users and roles stay.
	// It needs tls.mode Enabled. Default false.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Enabled",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"},order=64
	Enabled bool `json:"enabled,omitempty"`
}

// AuthStatus is what the operator remembers of etcd's authentication.
type AuthStatus struct {
	// managed is true from when the operator first acts on spec.auth.enabled until it has disabled authentication
	// again because of it. Authentication that is enabled while managed is false was not enabled by the operator,
	// and is left as it is.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Managed",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=41
	Managed bool `json:"managed,omitempty"`
}

// RootUser is etcd's user that may do everything, and its role. It is the operator's.
const RootUser = "root"

// FinalizerAccess is on an EtcdUser or EtcdRole while etcd may have what it stands for.
const FinalizerAccess = "etcd-operator.dev/access"

// LabelUser holds, on the Secret of an EtcdUser, the name of that.
const LabelUser = "etcd-operator.dev/user"

// ConditionAuthEnabled is, on an EtcdCluster, True while etcd lets only its users in, and Unknown while that is not known. An
// EtcdCluster has it once it asks for that, or once it was found.
const ConditionAuthEnabled = "AuthEnabled"

// Reasons of ConditionAuthEnabled.
const (
	// ReasonAuthAsSpecified: authentication is as spec.auth.enabled says.
	ReasonAuthAsSpecified = "AsSpecified"
	// ReasonAuthEnabledByHand: it was not enabled by the operator; the message says what to do.
	ReasonAuthEnabledByHand = "EnabledByHand"
	// ReasonOperatorNotRoot: it is enabled, and etcd does not accept the operator as root; the message says which user it is instead, and
	// how it becomes root again. ConditionDegraded has this reason, too.
	ReasonOperatorNotRoot = "OperatorNotRoot"
	// ReasonAuthChanging: it is being enabled or disabled; the message says what that waits for.
	ReasonAuthChanging = "Changing"
)

// Reasons of ConditionReady of an EtcdUser and an EtcdRole, with ReasonClusterMissing.
const (
	// ReasonSynced: etcd has the user or role as the spec says. True.
	ReasonSynced = "Synced"
	// ReasonTLSDisabled: the EtcdCluster has tls.mode Disabled, where etcd cannot have users.
	ReasonTLSDisabled = "TLSDisabled"
	// ReasonClusterUnreachable: etcd does not answer; what is wanted happens when it does.
	ReasonClusterUnreachable = "ClusterUnreachable"
	// ReasonClusterPaused: the EtcdCluster is paused.
	ReasonClusterPaused = "ClusterPaused"
	// ReasonNameTaken: an older object stands for the same user or role; it is the one that counts.
	ReasonNameTaken = "NameTaken"
	// ReasonRoleMissing: an EtcdRole that the user is to have does not exist, or does not count; the others are granted.
	ReasonRoleMissing = "RoleMissing"
	// ReasonSecretTaken: there is a Secret of the name that is not of this EtcdUser. Of ConditionCertificatesAccepted: cert-manager would
	// overwrite a Secret of another owner, and so is not asked for a Certificate.
	ReasonSecretTaken = "SecretTaken"
	// ReasonNoAuthority: the authority that signs certificates of clients is missing or lost, or is external.
	ReasonNoAuthority = "NoAuthority"
	// ReasonAccessFailed: etcd or Kubernetes refused a change, which the message quotes; it is tried again.
	ReasonAccessFailed = "Failed"
)

// HasAuth says whether etcd is to let only its users in. Until a change to TLS is complete, clients by http could not log in.
func (c *EtcdCluster) HasAuth() bool { return c.Spec.Auth.Enabled && c.IsSecure() && !c.ListsBoth() }

// RootSecret is the name of the Secret by which Jobs of backups connect while authentication is enabled.
func (c *EtcdCluster) RootSecret() string { return c.Name + "-root" }
