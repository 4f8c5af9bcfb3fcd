// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdCluster is one etcd cluster: how many members it has, which version they
// run and where their data lives. The operator creates it, keeps it running and
// heals it.
//
// The name is limited to 52 characters, because each member is a host named
// <name>-<serial> and a DNS label ends at 63 (RFC 1035, section 2.3.4).
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdclusters,singular=etcdcluster,shortName=ec,categories=etcd
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyMembers`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].reason`
// +kubebuilder:printcolumn:name="Last-Backup",type=date,JSONPath=`.status.backup.last.time`,priority=1
// +kubebuilder:printcolumn:name="Logged-Until",type=date,JSONPath=`.status.log.until.time`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +operator-sdk:csv:customresourcedefinitions:displayName="etcd Cluster",resources={{Pod,v1},{PersistentVolumeClaim,v1},{Service,v1},{Secret,v1},{PodDisruptionBudget,v1},{NetworkPolicy,v1},{Event,v1}},order=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="metadata.name must have at most 52 characters: each member is a host named <name>-<serial>, and a DNS label has at most 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label that starts with a letter (lower case letters, digits and '-', no dots): it becomes the name of Services"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.version) || self.spec.version == oldSelf.spec.version || !self.spec.version.matches('^3[.][0-9]{1,2}') || !self.status.version.matches('^3[.][0-9]{1,2}[.]') || !has(self.spec.image) || self.spec.image.size() == 0 || int(self.spec.version.split('.')[1]) <= int(self.status.version.split('.')[1]) + 1",fieldPath=".spec.version",message="with spec.image set, version may go up by one minor at a time: an image holds one version only",messageExpression="'with spec.image set, version may go up by one minor at a time, because an image holds one version only: members run ' + self.status.version"
// +kubebuilder:validation:XValidation:rule="!has(self.status) || !has(self.status.version) || self.spec.version == oldSelf.spec.version || !self.spec.version.matches('^3[.][0-9]{1,2}') || !self.status.version.matches('^3[.][0-9]{1,2}[.]') || int(self.spec.version.split('.')[1]) >= int(self.status.version.split('.')[1]) - 1",fieldPath=".spec.version",message="version may go down by one minor at a time",messageExpression="'version may go down by one minor at a time: members run ' + self.status.version"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.storage) || !has(oldSelf.spec.storage) || quantity(has(self.spec.storage.size) ? string(self.spec.storage.size) : '8Gi').compareTo(quantity(has(oldSelf.spec.storage.size) ? string(oldSelf.spec.storage.size) : '8Gi')) >= 0 || has(self.status) && has(self.status.volumeSize) && quantity(has(self.spec.storage.size) ? string(self.spec.storage.size) : '8Gi').compareTo(quantity(string(self.status.volumeSize))) >= 0",fieldPath=".spec.storage",message="storage.size cannot shrink: Kubernetes volumes only grow; it may be set back to status.volumeSize, which every volume has"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.tls) && has(self.spec.tls.mode) ? self.spec.tls.mode : 'Enabled') == (has(oldSelf.spec.tls) && has(oldSelf.spec.tls.mode) ? oldSelf.spec.tls.mode : 'Enabled') || has(self.status) && has(self.status.tls)",fieldPath=".spec.tls",message="tls.mode can be changed only once the cluster has formed and status.tls says by which mode its members are found: until then it is what the first members begin with"
// +kubebuilder:validation:XValidation:rule="has(self.spec.bootstrap) == has(oldSelf.spec.bootstrap) && (!has(self.spec.bootstrap) || self.spec.bootstrap == oldSelf.spec.bootstrap) || !has(self.spec.bootstrap) && has(self.status) && has(self.status.clusterID) && (!has(oldSelf.spec.bootstrap.adopt) || has(self.status.adoption) && has(self.status.adoption.completedAt)) && (!has(oldSelf.spec.bootstrap.copy) || has(self.status.copy) && has(self.status.copy.completedAt))",fieldPath=".spec.bootstrap",message="bootstrap cannot be changed: it says what the cluster begins with; create another EtcdCluster, or remove it once the cluster has formed, or the adoption or copy is complete"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.size) || self.spec.size != 0 || has(oldSelf.spec.size) && oldSelf.spec.size == 0 || !has(self.status) || !has(self.status.adoption) || has(self.status.adoption.completedAt)",fieldPath=".spec.size",message="size must not be 0 while a running cluster is adopted: the quorum needs the members that have joined; undo the adoption with the annotation etcd-operator.dev/undo-adoption, or wait until it is complete"
// +kubebuilder:validation:XValidation:rule="has(self.spec.storage) && has(self.spec.storage.storageClassName) || !has(oldSelf.spec.storage) || !has(oldSelf.spec.storage.storageClassName)",fieldPath=".spec.storage",message="storage.storageClassName cannot be removed: which class is the default may change; write another name, and members are replaced one at a time by members with such a volume"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.tls) || !has(self.spec.tls.secretRefs) || ([self.spec.tls.secretRefs.server.name, self.spec.tls.secretRefs.peer.name, self.spec.tls.secretRefs.operator.name] + (has(self.spec.tls.secretRefs.client) ? [self.spec.tls.secretRefs.client.name] : [])).all(name, !name.startsWith(self.metadata.name + '-') || !(name.substring(self.metadata.name.size() + 1) in ['client-ca', 'peer-ca', 'member-tls', 'client', 'root']))",fieldPath=".spec.tls.secretRefs",message="tls.secretRefs must not name a Secret that the operator writes: <cluster>-client-ca, -peer-ca, -member-tls, -client or -root"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.clientService) || !has(self.spec.clientService.perMember) || self.metadata.name.size() <= 47",fieldPath=".spec.clientService.perMember",message="clientService.perMember needs a name of the EtcdCluster of at most 47 characters: each Service is named <name>-<serial>-external, and that is at most 63"
type EtcdCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what is wanted.
	// +optional
	// +kubebuilder:default={}
	Spec EtcdClusterSpec `json:"spec,omitzero"`

	// status is what the operator last saw and what it remembers.
	// +optional
	Status EtcdClusterStatus `json:"status,omitzero"`
}

// EtcdClusterList is a list of EtcdClusters.
//
// +kubebuilder:object:root=true
type EtcdClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdCluster `json:"items"`
}

// EtcdClusterSpec is what a user wants of a cluster. `{size: 3}` is enough.
//
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || !has(oldSelf.storage) || has(self.storage.ephemeral) == has(oldSelf.storage.ephemeral)",message="storage.ephemeral cannot be added to or removed from an existing cluster: members would lose their data; create a new cluster and copy the data"
// +kubebuilder:validation:XValidation:rule="!has(self.etcd) || !has(self.storage) || !has(self.etcd.quota) || quantity(string(self.etcd.quota)).compareTo(quantity(has(self.storage.ephemeral) ? string(self.storage.ephemeral.sizeLimit) : has(self.storage.size) ? string(self.storage.size) : '8Gi')) <= 0",message="etcd.quota must not be above the size of the volume (storage.size, or storage.ephemeral.sizeLimit)"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscale) || !has(self.autoscale.max.cpu) || has(self.resources) && (has(self.resources.limits) && 'cpu' in self.resources.limits ? quantity(string(self.autoscale.max.cpu)).compareTo(quantity(string(self.resources.limits['cpu']))) >= 0 : has(self.resources.requests) && 'cpu' in self.resources.requests && quantity(string(self.autoscale.max.cpu)).compareTo(quantity(string(self.resources.requests['cpu']))) >= 0)",message="autoscale.max.cpu needs resources.limits.cpu, or else resources.requests.cpu, to begin with, and must not be below it"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscale) || !has(self.autoscale.max.memory) || has(self.resources) && (has(self.resources.limits) && 'memory' in self.resources.limits ? quantity(string(self.autoscale.max.memory)).compareTo(quantity(string(self.resources.limits['memory']))) >= 0 : has(self.resources.requests) && 'memory' in self.resources.requests && quantity(string(self.autoscale.max.memory)).compareTo(quantity(string(self.resources.requests['memory']))) >= 0)",message="autoscale.max.memory needs resources.limits.memory, or else resources.requests.memory, to begin with, and must not be below it"
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || !has(self.storage.autoGrow) || !has(self.storage.ephemeral)",message="storage.autoGrow needs volumes: storage.ephemeral has none"
// +kubebuilder:validation:XValidation:rule="!has(self.storage) || !has(self.storage.autoGrow) || quantity(string(self.storage.autoGrow.maxSize)).compareTo(quantity(has(self.storage.size) ? string(self.storage.size) : '8Gi')) >= 0",message="storage.autoGrow.maxSize must not be below storage.size"
// +kubebuilder:validation:XValidation:rule="!has(self.version) || !self.version.startsWith('3.7') || !has(self.etcd) || !has(self.etcd.extraArgs) || self.etcd.extraArgs.all(key, !key.startsWith('experimental-'))",message="etcd.extraArgs must not set experimental-* flags with version 3.7: etcd 3.7 has none and exits; use the flag without the prefix, or feature-gates"
// +kubebuilder:validation:XValidation:rule="!has(self.profile) || self.profile != 'Kubernetes' || !has(self.auth) || !has(self.auth.enabled) || !self.auth.enabled || has(self.etcd) && has(self.etcd.autoCompaction) && (has(self.etcd.autoCompaction.mode) && self.etcd.autoCompaction.mode != 'Periodic' || has(self.etcd.autoCompaction.retention) && self.etcd.autoCompaction.retention != '1h')",fieldPath=".etcd",message="auth.enabled with profile Kubernetes needs etcd.autoCompaction that is not the default, such as retention 5m: by the profile API servers compact, and where authentication is enabled etcd lets only root do so"
// +kubebuilder:validation:XValidation:rule="!has(self.size) || self.size != 0 || !has(self.storage) || !has(self.storage.ephemeral)",message="size 0 needs volumes: with storage.ephemeral the data would be lost; delete the EtcdCluster instead"
// +kubebuilder:validation:XValidation:rule="!has(self.image) || self.image.size() == 0 || !has(self.version) || self.version.matches('^3[.][0-9]+[.]')",message="version must be a full version such as 3.6.16 when image is set: an image holds one version only"
// +kubebuilder:validation:XValidation:rule="!has(self.expiresAfter) || has(self.deletionPolicy) && self.deletionPolicy == 'Delete'",fieldPath=".expiresAfter",message="expiresAfter needs deletionPolicy Delete: nothing is kept of an EtcdCluster that expires"
// +kubebuilder:validation:XValidation:rule="!has(self.bootstrap) || !has(self.bootstrap.restore) || !has(self.storage) || !has(self.storage.ephemeral)",message="bootstrap.restore needs volumes: data is restored into them before members start, and storage.ephemeral has none"
// +kubebuilder:validation:XValidation:rule="!has(self.deletionPolicy) || self.deletionPolicy != 'Backup' || has(self.backup)",message="deletionPolicy Backup needs spec.backup.store: the volumes go, and the last backup has to be somewhere"
// +kubebuilder:validation:XValidation:rule="!has(self.upgrade) || !has(self.upgrade.backup) || self.upgrade.backup != 'Require' || has(self.backup)",message="upgrade.backup Require needs spec.backup.store: the backup that an upgrade waits for has to be somewhere"
// +kubebuilder:validation:XValidation:rule="!has(self.auth) || !has(self.auth.enabled) || !self.auth.enabled || !has(self.tls) || !has(self.tls.mode) || self.tls.mode != 'Disabled'",message="auth.enabled needs tls.mode Enabled: the operator and applications prove by certificates who they are, and without TLS everybody on the way could read their passwords"
// +kubebuilder:validation:XValidation:rule="!has(self.bootstrap) || !has(self.bootstrap.adopt) || self.bootstrap.adopt.endpoints.exists(url, url.startsWith('https://')) == !(has(self.tls) && has(self.tls.mode) && self.tls.mode == 'Disabled')",fieldPath=".tls.mode",message="tls.mode must be Enabled to adopt https endpoints, and Disabled to adopt http endpoints: members of one cluster hear each other by one scheme"
// +kubebuilder:validation:XValidation:rule="!has(self.bootstrap) || !has(self.bootstrap.adopt) || !has(self.tls) || !has(self.tls.secretRefs) && !has(self.tls.issuerRef)",fieldPath=".tls",message="bootstrap.adopt needs certificates of the operator: tls.secretRefs or tls.issuerRef may be added when the adoption is complete"
// +kubebuilder:validation:XValidation:rule="!has(self.clientService) || !has(self.clientService.tlsRoute) || !has(self.tls) || !has(self.tls.mode) || self.tls.mode != 'Disabled'",fieldPath=".clientService.tlsRoute",message="clientService.tlsRoute needs tls.mode Enabled: a TLSRoute routes by the name that a client asks for in TLS"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.network) || has(self.network)",fieldPath=".network",message="network cannot be removed, because Kubernetes would leave the Services as they are: set network.ipFamilyPolicy to SingleStack"
type EtcdClusterSpec struct {
	// size is the number of voting members: 1, 3, 5 or 7. Even sizes need more
	// members for the same tolerance of failures, and more than seven slow every
	// write down (https://etcd.io/docs/v3.6/faq/). 0 hibernates: no Pod runs, every
	// volume is kept, and any other size wakes the cluster with all its data. Default 3.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:XValidation:rule="self in [0, 1, 3, 5, 7]",message="size must be 1, 3, 5 or 7, or 0 to hibernate: an even number of members tolerates no more failures than one fewer, and etcd advises at most seven"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"},order=1
	Size *int32 `json:"size,omitempty"`

	// version is the etcd version of all members: 3.5.11 or newer, 3.6.x or 3.7.x; or
	// a minor version such as 3.6, which follows its newest patch that the operator
	// knows.
	// Members are updated one at a time. Several minor versions up are taken one
	// after the other; down, one minor version from 3.6 on. Default 3.6.16.
	// +optional
	// +kubebuilder:default="3.6.16"
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^3[.][5-7]([.](0|[1-9][0-9]{0,3}))?$')",message="version must be an etcd version of the 3.5, 3.6 or 3.7 series without a leading v, such as 3.6.16, or 3.6 for its newest patch"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^3[.]5[.]([0-9]|10)$')",message="version must be 3.5.11 or newer: earlier ones do not serve the health checks that the kubelet asks for"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="etcd Version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	Version string `json:"version,omitempty"`

	// image overrides the container image of the members. It must hold the etcd of
	// spec.version. Default: the image that the operator is configured with for the version, else
	// gcr.io/etcd-development/etcd:v<version>.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-zA-Z0-9][-a-zA-Z0-9._:/@]*$')",message="image must be an image reference, such as registry.example/etcd:v3.6.16 or one that ends in @sha256:<digest>"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=30
	Image string `json:"image,omitempty"`

	// imagePullSecrets are Secrets of this namespace by which images are pulled from registries that want a login: those of members, and of
	// the Jobs of the cluster's backups and restores, which run the operator's image, too. A Pod that names any does not get those of its
	// ServiceAccount. They count for new Pods: no member restarts for a change, except one whose image is not pulled yet. Default: those of
	// the ServiceAccounts.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image Pull Secrets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=91
	ImagePullSecrets []ImagePullSecret `json:"imagePullSecrets,omitempty"`

	// storage says where the members keep their data.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Storage",order=3
	Storage Storage `json:"storage,omitzero"`

	// resources are the compute resources of each member's etcd container. Default: requests of 100m of a processor and 128Mi of memory for
	// clusters that are formed by this version or a later one (status.bootstrap.requests), nothing for those that were there before. An
	// empty object asks for nothing.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:resourceRequirements"},order=9
	Resources Resources `json:"resources,omitzero"`

	// scheduling says on which nodes members may run.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Scheduling",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=31
	Scheduling Scheduling `json:"scheduling,omitzero"`

	// podMetadata is added to the members' Pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Metadata of Pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=37
	PodMetadata PodMetadata `json:"podMetadata,omitzero"`

	// podTemplate is merged into the members' Pods: containers beside etcd, volumes, variables and what else has no field of its own. A
	// change restarts members, one at a time. Default: nothing is added.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod Template",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=170
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`

	// etcd holds settings of etcd itself.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="etcd Settings",order=10
	Etcd EtcdSettings `json:"etcd,omitzero"`

	// profile says what kind of client the settings of etcd are for. Kubernetes sets what kubeadm 1.37 sets for its etcd: no auto-
	// compaction, because API servers compact themselves (with auth.enabled only root may, and autoCompaction must be another than the
	// default); progress notifications of watches every 5s; and InitialCorruptCheck. A field that is set wins over it; status.profile says
	// what it sets. A change restarts members, one at a time. Default General, which sets nothing.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Profile",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:General","urn:alm:descriptor:com.tectonic.ui:select:Kubernetes"},order=145
	Profile Profile `json:"profile,omitempty"`

	// tls says how connections to and between members are secured.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS",order=20
	TLS TLS `json:"tls,omitzero"`

	// clientService says how clients reach the Service <cluster>-client, also from outside of the Kubernetes cluster. Default: it is a
	// ClusterIP.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Client Service",order=136
	ClientService *ClientService `json:"clientService,omitempty"`

	// network says by which families of IP addresses the Services of the cluster are reached. Default: by that of the Kubernetes cluster, or
	// the first of two.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=178
	Network *Network `json:"network,omitempty"`

	// networkPolicy says which peers may reach the members over the network.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Network Policy",order=60
	NetworkPolicy NetworkPolicy `json:"networkPolicy,omitzero"`

	// auth is the authentication of clients by etcd. Default: every client with a certificate is admitted.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Authentication",order=63
	Auth Auth `json:"auth,omitzero"`

	// upgrade says what an upgrade waits for, and what happens when a new version does not run.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Upgrade",order=23
	Upgrade Upgrade `json:"upgrade,omitzero"`

	// recovery says what the operator may do about members that do not come back.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Recovery",order=25
	Recovery Recovery `json:"recovery,omitzero"`

	// backup says how the cluster is backed up, where an EtcdBackup does not say it itself.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Backup",order=40
	Backup *Backup `json:"backup,omitempty"`

	// maintenance says how room is kept in the members' databases.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Maintenance",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=100
	Maintenance Maintenance `json:"maintenance,omitzero"`

	// monitoring has objects of the Prometheus Operator made for the cluster. Default: none.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Monitoring",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=126
	Monitoring Monitoring `json:"monitoring,omitzero"`

	// tuning says whether the operator looks for better settings of etcd. Advise writes them into status.recommendations, with what it has
	// measured, and changes nothing. Default Advise. Deprecated: Apply, by which earlier versions put them into effect. It is Advise, but for
	// what they have put into effect, which is in status.tuned and stays; no cluster can be given it.
	// +optional
	// +kubebuilder:default=Advise
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tuning",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Off","urn:alm:descriptor:com.tectonic.ui:select:Advise","urn:alm:descriptor:com.tectonic.ui:advanced"},order=124
	Tuning TuningPolicy `json:"tuning,omitempty"`

	// autoscale lets the operator give members more of a processor and of memory than resources, between there and autoscale.max, by what
	// they use. Default: they have what resources says.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Autoscale",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=131
	Autoscale *Autoscale `json:"autoscale,omitempty"`

	// drills says whether EtcdDrills may simulate failures of this cluster: Allowed or Forbidden. Default Forbidden.
	// +optional
	// +kubebuilder:default=Forbidden
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Drills",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Allowed","urn:alm:descriptor:com.tectonic.ui:select:Forbidden"},order=105
	Drills DrillPolicy `json:"drills,omitempty"`

	// bootstrap says what the cluster begins with. Default: it begins empty.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Bootstrap",order=50
	Bootstrap *BootstrapSpec `json:"bootstrap,omitempty"`

	// paused stops the operator from changing or healing anything, until it is
	// false again. Members that run go on. Only deletionPolicy still takes effect.
	// The annotation etcd-operator.dev/paused: "true" does the same.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Paused",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"},order=29
	Paused bool `json:"paused,omitempty"`

	// deletionPolicy says what happens to the volumes when the EtcdCluster is
	// deleted. Retain keeps them, and an EtcdCluster of the same name adopts them
	// and comes back with its data; Delete removes them. Backup removes them, too, once a last
	// backup is verified: until then the EtcdCluster stays, and its members serve. Default Retain.
	// +optional
	// +kubebuilder:default=Retain
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volumes after Deletion",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Retain","urn:alm:descriptor:com.tectonic.ui:select:Delete","urn:alm:descriptor:com.tectonic.ui:select:Backup"},order=22
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// expiresAfter is how long after its creation the operator deletes this EtcdCluster with its volumes: for one that begins with a backup
	// to look into it, or to rehearse on. It can be changed and removed until then, and a pause holds it up. It goes with deletionPolicy
	// Delete alone. 1m to 8760h, a year. Default: it is never deleted.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('8760h')",message="expiresAfter must be between 1m and 8760h, a year"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Expires After",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text","urn:alm:descriptor:com.tectonic.ui:advanced"},order=132
	ExpiresAfter *metav1.Duration `json:"expiresAfter,omitempty"`
}

// ExpiresAt is when the operator deletes the EtcdCluster; nil: never.
func (c *EtcdCluster) ExpiresAt() *time.Time {
	if c.Spec.ExpiresAfter == nil || c.Spec.DeletionPolicy != Delete {
		return nil
	}
	at := c.CreationTimestamp.Add(c.Spec.ExpiresAfter.Duration)
	return &at
}

// BootstrapSpec says what a cluster begins with.
//
// +kubebuilder:validation:XValidation:rule="!has(self.restore) || !has(self.__import__)",message="bootstrap.restore and bootstrap.import exclude each other: a restored cluster begins with the keys of the backup"
// +kubebuilder:validation:XValidation:rule="!has(self.adopt) || !has(self.restore) && !has(self.__import__)",message="bootstrap.adopt excludes bootstrap.restore and bootstrap.import: the cluster that is adopted has its data"
// +kubebuilder:validation:XValidation:rule="!has(self.copy) || !has(self.adopt) && !has(self.restore) && !has(self.__import__)",message="bootstrap.copy excludes bootstrap.adopt, bootstrap.restore and bootstrap.import: the cluster begins empty, and gets the data of the one that is copied"
type BootstrapSpec struct {
	// copy copies the keys of a running cluster where adopt is not possible, and sends its clients here after seconds of stopped writes. It
	// cannot be changed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Copy",order=146
	Copy *Copy `json:"copy,omitempty"`

	// adopt takes over a running cluster that the operator has not made, without downtime. It cannot be changed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Adopt",order=91
	Adopt *Adopt `json:"adopt,omitempty"`

	// restore begins with the data of a backup: keys, leases, users and roles. The certificates are
	// the new cluster's. It cannot be changed once the first members were chosen.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Restore",order=51
	Restore *Restore `json:"restore,omitempty"`

	// import writes the keys of a ConfigMap or a Secret, once, when the cluster has formed and serves. A key that is
	// there by then is kept as it is. A cluster that comes back with data that it had before gets none. It cannot be
	// changed; what is missing in the ConfigMap or Secret can be added until the import.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Import",order=52
	Import *Import `json:"import,omitempty"`
}

// Upgrade says what an upgrade waits for, and what happens when a new version or image does not run.
type Upgrade struct {
	// onFailure is Halt (the first member that does not come back stops the roll; the
	// others are left alone until the spec is changed) or RollBack (that member goes
	// back to what the others run, and the version is not tried again before the spec
	// changes; the only member of a cluster of one goes back to the version that it last
	// said it runs, if spec.image is not set). Default Halt.
	// +optional
	// +kubebuilder:default=Halt
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="When a Version Fails",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Halt","urn:alm:descriptor:com.tectonic.ui:select:RollBack"},order=24
	OnFailure FailurePolicy `json:"onFailure,omitempty"`

	// backup is Require (before etcd's minor version changes, up or down, and before hibernation, a
	// backup is made, and they wait until it is verified, or complete where backup.verify is Never) or
	// Skip (they wait for none). Default Require if spec.backup is set, else Skip.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Backup before an Upgrade",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Require","urn:alm:descriptor:com.tectonic.ui:select:Skip"},order=38
	Backup UpgradeBackupPolicy `json:"backup,omitempty"`
}

// UpgradeBackupPolicy says whether risky changes wait for a backup.
// +kubebuilder:validation:Enum=Require;Skip
type UpgradeBackupPolicy string

const (
	// RequireBackup waits until a backup is verified.
	RequireBackup UpgradeBackupPolicy = "Require"
	// SkipBackup waits for none.
	SkipBackup UpgradeBackupPolicy = "Skip"
)

// FailurePolicy says what a failed upgrade leads to.
// +kubebuilder:validation:Enum=Halt;RollBack
type FailurePolicy string

const (
	// Halt leaves the failed member as it is.
	Halt FailurePolicy = "Halt"
	// RollBack gives the failed member its earlier version back.
	RollBack FailurePolicy = "RollBack"
)

// DeletionPolicy says what happens to data when its EtcdCluster is deleted.
// +kubebuilder:validation:Enum=Retain;Delete;Backup
type DeletionPolicy string

const (
	// Retain keeps the volumes for a later EtcdCluster of the same name.
	Retain DeletionPolicy = "Retain"
	// Delete removes the volumes with the EtcdCluster.
	Delete DeletionPolicy = "Delete"
	// BackupFirst removes them once a last backup is verified.
	BackupFirst DeletionPolicy = "Backup"
)
