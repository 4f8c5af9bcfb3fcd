// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Adopt names a running cluster of etcd that the operator has not made, and that becomes this EtcdCluster while its clients go on: members
// of the operator join it one at a time, leadership moves to them, and the members that were there, its sources, are removed one at a
// time. Data, revisions, leases and users stay as they are. Volumes and Pods of the sources are not deleted.
//
// +kubebuilder:validation:XValidation:rule="self.endpoints.all(url, url.startsWith('https://')) || self.endpoints.all(url, url.startsWith('http://'))",fieldPath=".endpoints",message="bootstrap.adopt.endpoints must be all https or all http: members of a cluster have one scheme"
// +kubebuilder:validation:XValidation:rule="self.endpoints.exists(url, url.startsWith('https://')) ? has(self.clientSecretRef) && has(self.peerAuthorityRef) : !has(self.clientSecretRef) && !has(self.peerAuthorityRef) && !has(self.clientAuthorityRef)",message="bootstrap.adopt with https endpoints needs clientSecretRef (the certificate of a client) and peerAuthorityRef (the authority of its peers, with its key); with http endpoints there is neither, nor clientAuthorityRef"
// +kubebuilder:validation:XValidation:rule="!has(self.volumes) || self.volumes != 'Keep' || has(self.statefulSet)",fieldPath=".volumes",message="bootstrap.adopt.volumes Keep needs bootstrap.adopt.statefulSet, which has the volumes"
type Adopt struct {
	// endpoints are URLs at which members of the running cluster serve clients, such as http://etcd-0.etcd-headless.default.svc:2379.
	// One that answers is enough: the others are found by what members advertise. 1 to 9.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:MaxLength=300
	// +kubebuilder:validation:items:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getPort() != ''",message="an endpoint must be a URL with scheme http or https, a host and a port, such as http://etcd-0.etcd.default.svc:2379"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Endpoints to Adopt",order=92
	Endpoints []string `json:"endpoints"`

	// clientSecretRef names the Secret with ca.crt, tls.crt and tls.key by which the operator connects to https endpoints.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Client Certificate for the Sources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ClientSecretRef *LocalSecret `json:"clientSecretRef,omitempty"`

	// credentialsRef names the Secret with the password of the user root, which has the annotation etcd-operator.dev/adopted-by, if
	// authentication is enabled and certificates do not say who a client is. The password goes only to endpoints that the annotation
	// names: name one of each member. While the cluster has no TLS it is needed for as long as authentication is enabled.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Credentials for the Sources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	CredentialsRef *Credentials `json:"credentialsRef,omitempty"`

	// peerAuthorityRef names the Secret with the certificate authority of the sources' peers, tls.crt and tls.key (or ca.crt and ca.key), and
	// the annotation etcd-operator.dev/adopted-by with name, UID and endpoints of the EtcdCluster. It signs the first certificates of the
	// members that join; when the sources are gone, it is rotated out.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authority of the Sources' Peers",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	PeerAuthorityRef *LocalSecret `json:"peerAuthorityRef,omitempty"`

	// clientAuthorityRef names the Secret with the certificate authority of its clients, as peerAuthorityRef. With it, clients that trust
	// that authority, and have certificates of it, are served by the members that join, and go on until its rotation is asked for by the
	// annotation etcd-operator.dev/rotate: it is never replaced before, unless it ends. Default: an authority of the operator, which they
	// have yet to trust.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authority of the Sources' Clients",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	ClientAuthorityRef *LocalSecret `json:"clientAuthorityRef,omitempty"`

	// services are the Services in the same namespace by which clients reach the sources. Once all members have joined, their selectors
	// are changed to those members, so that clients go on by the old names. Default: none; clients have to change their endpoints.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Services of the Sources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	Services []string `json:"services,omitempty"`

	// statefulSet is the StatefulSet in the same namespace that runs the sources. It is scaled down before each removal, so that clients go
	// to other members at once and no source that was removed starts again; its members are removed in the order in which it deletes
	// Pods. Default: none; stop the sources yourself.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="StatefulSet of the Sources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"}
	StatefulSet string `json:"statefulSet,omitempty"`

	// volumes is Copy (members join with volumes of their own, and etcd copies the data to them) or Keep (data is not copied: the volume of
	// each source becomes that of a member, one at a time, and each is down for as long as its restart takes). Keep needs statefulSet, at
	// least 3 sources, a spec.size of as many, and the name of its claims without the number as the name of the EtcdCluster: data-etcd for
	// data-etcd-0. It can be undone until the first volume was taken over. Default Copy.
	// +optional
	// +kubebuilder:default=Copy
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volumes of the Sources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Copy","urn:alm:descriptor:com.tectonic.ui:select:Keep","urn:alm:descriptor:com.tectonic.ui:advanced"}
	Volumes SourceVolumes `json:"volumes,omitempty"`
}

// SourceVolumes says what becomes of the volumes of a cluster that is adopted.
// +kubebuilder:validation:Enum=Copy;Keep
type SourceVolumes string

const (
	// CopyVolumes leaves them as they are: members have volumes of their own.
	CopyVolumes SourceVolumes = "Copy"
	// KeepVolumes makes them the volumes of members.
	KeepVolumes SourceVolumes = "Keep"
)

// Keeps says whether the volumes of the sources become those of members.
func (a *Adopt) Keeps() bool { return a != nil && a.Volumes == KeepVolumes }

// Credentials name a Secret with a user's name and password.
type Credentials struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// usernameKey is the key with the user's name. Default: username; without such a key the user is root.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	UsernameKey string `json:"usernameKey,omitempty"`

	// passwordKey is the key with the password, such as etcd-root-password in a Secret of Bitnami's chart. Default: password.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PasswordKey string `json:"passwordKey,omitempty"`
}

// AdoptionStatus is how far the adoption of a running cluster is.
type AdoptionStatus struct {
	// sources are the members that the cluster had when it began.
	// +listType=map
	// +listMapKey=id
	Sources []SourceMember `json:"sources"`

	// startedAt is when they were written down; from then on members of the operator join.
	StartedAt metav1.Time `json:"startedAt"`

	// completedAt is when the last of them was removed.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// SourceMember is a member of the cluster that is adopted, as it was listed.
type SourceMember struct {
	// id of the member, in hexadecimal.
	ID string `json:"id"`
	// name of the member.
	Name string `json:"name"`
	// peerURLs are where other members reach it.
	// +listType=atomic
	PeerURLs []string `json:"peerURLs"`
	// clientURLs are those that it advertises to clients.
	// +optional
	// +listType=atomic
	ClientURLs []string `json:"clientURLs,omitempty"`
}

// AnnotationUndoAdoption, with the value true, has the members that have joined leave again, while at least one of the sources is left.
const AnnotationUndoAdoption = "etcd-operator.dev/undo-adoption"

// FinalizerAdoption is on an EtcdCluster while it adopts a running cluster: if it is deleted, it stays until its members have left that.
const FinalizerAdoption = "etcd-operator.dev/adoption"

// AnnotationSourceSelector is on a Service that an adoption has routed to members of the operator: the selector that it had before.
const AnnotationSourceSelector = "etcd-operator.dev/source-selector"

// AnnotationAdoptedAuthority is on the Secret of an authority that was that of a running cluster which was adopted.
const AnnotationAdoptedAuthority = "etcd-operator.dev/adopted-authority"

// ConditionAdopted is, on an EtcdCluster with spec.bootstrap.adopt, True once the last member of the cluster that was adopted is removed.
const ConditionAdopted = "Adopted"

// Reasons of ConditionAdopted.
const (
	// ReasonSourceAdopted: all members are the operator's. True, and for good.
	ReasonSourceAdopted = "SourceAdopted"
	// ReasonSourceUnreachable: the running cluster does not answer, or not with quorum; the message says what was seen.
	ReasonSourceUnreachable = "SourceUnreachable"
	// ReasonSourceUnfit: the running cluster cannot be adopted as it is; the message says why, and what to do.
	ReasonSourceUnfit = "SourceUnfit"
	// ReasonMembersJoining: members of the operator join. Nothing of the sources was changed.
	ReasonMembersJoining = "MembersJoining"
	// ReasonSourcesLeaving: leadership moves, and the sources are removed one at a time.
	ReasonSourcesLeaving = "SourcesLeaving"
	// ReasonVolumesTakenOver: with volumes Keep, members take over the volumes of the sources one at a time.
	ReasonVolumesTakenOver = "VolumesTakenOver"
	// ReasonAdoptionUndone: members of the operator leave again, or have left, because the annotation asks for it.
	ReasonAdoptionUndone = "AdoptionUndone"
)

// Adopts is the running cluster that is yet to become this one; nil if there is none, or it has become this one.
func (c *EtcdCluster) Adopts() *Adopt {
	if c.Spec.Bootstrap == nil || c.Status.Adoption != nil && c.Status.Adoption.CompletedAt != nil {
		return nil
	}
	return c.Spec.Bootstrap.Adopt
}

// IsAdopting says whether members of a running cluster and those of the operator are one cluster.
func (c *EtcdCluster) IsAdopting() bool {
	return c.Status.Adoption != nil && c.Status.Adoption.CompletedAt == nil
}

// SourceSecrets are the Secrets of the user that an adoption or a copy reads, by their names.
func (c *EtcdCluster) SourceSecrets() []string {
	b := c.Spec.Bootstrap
	if b == nil {
		return nil
	}
	var refs []*LocalSecret
	var credentials []*Credentials
	if b.Adopt != nil {
		refs = append(refs, b.Adopt.ClientSecretRef, b.Adopt.PeerAuthorityRef, b.Adopt.ClientAuthorityRef)
		credentials = append(credentials, b.Adopt.CredentialsRef)
	}
	if b.Copy != nil {
		refs, credentials = append(refs, b.Copy.ClientSecretRef), append(credentials, b.Copy.CredentialsRef)
	}
	var names []string
	for _, ref := range refs {
		if ref != nil {
			names = append(names, ref.Name)
		}
	}
	for _, ref := range credentials {
		if ref != nil {
			names = append(names, ref.Name)
		}
	}
	return names
}

// SourceURLs are where the sources may be asked: what one of them alone advertises first, then the endpoints of the spec, and last what
// several advertise, as is that of a Service. All have the scheme of the endpoints: what a source advertises is not to say that passwords
// go by http. Empty if none are adopted.
func (c *EtcdCluster) SourceURLs() []string {
	const most = 24
	adopt := c.Adopts()
	if adopt == nil {
		return nil
	}
	own, shared := c.Status.Adoption.advertised()
	scheme, _, _ := strings.Cut(adopt.Endpoints[0], ":")
	var distinct []string
	for _, text := range slices.Concat(own, adopt.Endpoints, shared) {
		u, err := url.Parse(text)
		if err != nil || u.Port() == "" || u.Scheme != scheme || slices.Contains(distinct, text) || len(distinct) == most {
			continue
		}
		distinct = append(distinct, text)
	}
	return distinct
}

// advertised are the URLs that one of the sources alone advertises, and those that several do.
func (a *AdoptionStatus) advertised() (own, shared []string) {
	if a == nil {
		return nil, nil
	}
	count := map[string]int{}
	var all []string
	for _, source := range a.Sources {
		all = append(all, source.ClientURLs...)
	}
	for _, text := range all {
		count[text]++
	}
	for _, text := range all {
		if count[text] == 1 {
			own = append(own, text)
		} else {
			shared = append(shared, text)
		}
	}
	return own, shared
}
