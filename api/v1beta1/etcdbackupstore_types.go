// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EtcdBackupStore is a place where backups are kept, used by name in its namespace:
// a bucket, a container of blobs, or a volume. The operator keeps no key of it: what
// touches the store runs in Jobs of its namespace.
//
// Where it is (bucket, prefix, endpoint and the like) cannot be changed after it was used once.
//
// In a fresh Kubernetes a store is enough to see the backups that lie in it, as
// EtcdBackups.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=etcdbackupstores,singular=etcdbackupstore,shortName=ebs,categories=etcd
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.status.type`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Backups",type=integer,JSONPath=`.status.backups`
// +kubebuilder:printcolumn:name="Stored",type=string,JSONPath=`.status.storedSize`
// +kubebuilder:printcolumn:name="Newest",type=date,JSONPath=`.status.newest.time`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +operator-sdk:csv:customresourcedefinitions:displayName="etcd Backup Store",resources={{Job,v1},{Pod,v1},{Event,v1}},order=3
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters: it is the value of a label"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.triedAt) || !has(self.spec.s3) || !has(oldSelf.spec.s3) || (self.spec.s3.bucket == oldSelf.spec.s3.bucket && has(self.spec.s3.prefix) == has(oldSelf.spec.s3.prefix) && (!has(self.spec.s3.prefix) || self.spec.s3.prefix == oldSelf.spec.s3.prefix) && has(self.spec.s3.endpoint) == has(oldSelf.spec.s3.endpoint) && (!has(self.spec.s3.endpoint) || self.spec.s3.endpoint == oldSelf.spec.s3.endpoint))",message="bucket, prefix and endpoint cannot be changed after the store was used, or its EtcdBackups would stand for what is not there: create another EtcdBackupStore"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.triedAt) || !has(self.spec.gcs) || !has(oldSelf.spec.gcs) || (self.spec.gcs.bucket == oldSelf.spec.gcs.bucket && has(self.spec.gcs.prefix) == has(oldSelf.spec.gcs.prefix) && (!has(self.spec.gcs.prefix) || self.spec.gcs.prefix == oldSelf.spec.gcs.prefix) && has(self.spec.gcs.endpoint) == has(oldSelf.spec.gcs.endpoint) && (!has(self.spec.gcs.endpoint) || self.spec.gcs.endpoint == oldSelf.spec.gcs.endpoint))",message="bucket, prefix and endpoint cannot be changed after the store was used, or its EtcdBackups would stand for what is not there: create another EtcdBackupStore"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.triedAt) || !has(self.spec.azure) || !has(oldSelf.spec.azure) || (self.spec.azure.account == oldSelf.spec.azure.account && self.spec.azure.container == oldSelf.spec.azure.container && has(self.spec.azure.prefix) == has(oldSelf.spec.azure.prefix) && (!has(self.spec.azure.prefix) || self.spec.azure.prefix == oldSelf.spec.azure.prefix) && has(self.spec.azure.endpoint) == has(oldSelf.spec.azure.endpoint) && (!has(self.spec.azure.endpoint) || self.spec.azure.endpoint == oldSelf.spec.azure.endpoint))",message="account, container, prefix and endpoint cannot be changed after the store was used, or its EtcdBackups would stand for what is not there: create another EtcdBackupStore"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.triedAt) || !has(self.spec.volume) || !has(oldSelf.spec.volume) || (self.spec.volume.claim == oldSelf.spec.volume.claim && has(self.spec.volume.path) == has(oldSelf.spec.volume.path) && (!has(self.spec.volume.path) || self.spec.volume.path == oldSelf.spec.volume.path))",message="claim and path cannot be changed after the store was used, or its EtcdBackups would stand for what is not there: create another EtcdBackupStore"
type EtcdBackupStore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the store is, and which credentials open it.
	// +required
	Spec EtcdBackupStoreSpec `json:"spec"`

	// status is what the last look at the store found.
	// +optional
	Status EtcdBackupStoreStatus `json:"status,omitzero"`
}

// EtcdBackupStoreList is a list of EtcdBackupStores.
//
// +kubebuilder:object:root=true
type EtcdBackupStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EtcdBackupStore `json:"items"`
}

// EtcdBackupStoreSpec says where a store is. Exactly one of s3, gcs, azure and volume is given.
//
// +kubebuilder:validation:XValidation:rule="[has(self.s3), has(self.gcs), has(self.azure), has(self.volume)].filter(x, x).size() == 1",message="a store is exactly one of s3, gcs, azure and volume"
// +kubebuilder:validation:XValidation:rule="has(self.s3) == has(oldSelf.s3) && has(self.gcs) == has(oldSelf.gcs) && has(self.azure) == has(oldSelf.azure) && has(self.volume) == has(oldSelf.volume)",message="a store cannot become one of another kind, or its backups would be looked for where they are not: create another EtcdBackupStore"
type EtcdBackupStoreSpec struct {
	// s3 is a bucket of Amazon S3, or of a store that speaks its language.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="S3",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=1
	S3 *S3Store `json:"s3,omitempty"`

	// gcs is a bucket of Google Cloud Storage.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="GCS",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	GCS *GCSStore `json:"gcs,omitempty"`

	// azure is a container of Azure Blob Storage.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Azure",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Azure *AzureStore `json:"azure,omitempty"`

	// volume is a PersistentVolumeClaim. It must allow ReadWriteMany if members run on several nodes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Volume",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Volume *VolumeStore `json:"volume,omitempty"`

	// serviceAccountName is the ServiceAccount of the Jobs that use the store, for workload
	// identity. Default: etcd-operator-backup, which the operator creates and grants nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service Account Name",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// S3Store is a bucket of Amazon S3, or of a store that speaks its language. The store
// must refuse to overwrite an object when asked to (If-None-Match), which the check shows.
type S3Store struct {
	// bucket is the name of the bucket. It must exist.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	Bucket string `json:"bucket"`

	// prefix is the folder for backups; empty for the whole bucket.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(part, part == '..' || part == '.')",message="prefix is the name of a folder: it begins with no slash, and does not go up"
	Prefix string `json:"prefix,omitempty"`

	// endpoint is the URL of the store, such as https://minio.example:9000. Default: Amazon's in the region.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#]+/?$')",message="endpoint must be a URL such as https://minio.example:9000, without a path"
	Endpoint string `json:"endpoint,omitempty"`

	// region of the bucket. Default us-east-1, which most other stores expect.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Region string `json:"region,omitempty"`

	// pathStyle puts the bucket into the path instead of the name of the host.
	// +optional
	PathStyle bool `json:"pathStyle,omitempty"`

	// ca holds authorities in PEM that are trusted besides the system's.
	// +optional
	CA *CASource `json:"ca,omitempty"`

	// credentials are a Secret with accessKeyID, secretAccessKey and, for temporary keys,
	// sessionToken. Default: the identity of the ServiceAccount.
	// +optional
	Credentials *SecretReference `json:"credentials,omitempty"`

	// encryption is how the store encrypts what it keeps. Default: as the bucket says.
	// +optional
	Encryption *S3Encryption `json:"encryption,omitempty"`

	// lock keeps every object that is written from being deleted. The bucket must have been
	// created with object lock.
	// +optional
	Lock *S3Lock `json:"lock,omitempty"`
}

// S3Encryption is how an S3 store encrypts what it keeps.
type S3Encryption struct {
	// mode is SSE (by a key of the store's) or KMS (by a key of its key management).
	// +required
	Mode S3EncryptionMode `json:"mode"`

	// key is the ID or ARN of the key of KMS. Default: the bucket's.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Key string `json:"key,omitempty"`
}

// S3EncryptionMode is by whose key an S3 store encrypts.
// +kubebuilder:validation:Enum=SSE;KMS
type S3EncryptionMode string

const (
	// EncryptionSSE is by a key of the store's.
	EncryptionSSE S3EncryptionMode = "SSE"
	// EncryptionKMS is by a key of its key management.
	EncryptionKMS S3EncryptionMode = "KMS"
)

// S3Lock keeps objects from being deleted.
type S3Lock struct {
	// mode is Governance (users with a special right can remove the lock) or Compliance (no user can).
	// +required
	Mode S3LockMode `json:"mode"`

	// days that each backup is locked, from its start on.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=36500
	Days int32 `json:"days"`
}

// S3LockMode is how strict a lock is.
// +kubebuilder:validation:Enum=Governance;Compliance
type S3LockMode string

const (
	// LockGovernance can be removed by users with a special right.
	LockGovernance S3LockMode = "Governance"
	// LockCompliance cannot be removed by any user.
	LockCompliance S3LockMode = "Compliance"
)

// GCSStore is a bucket of Google Cloud Storage.
type GCSStore struct {
	// bucket is the name of the bucket. It must exist.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=222
	Bucket string `json:"bucket"`

	// prefix is the folder for backups; empty for the whole bucket.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(part, part == '..' || part == '.')",message="prefix is the name of a folder: it begins with no slash, and does not go up"
	Prefix string `json:"prefix,omitempty"`

	// endpoint is the URL of the store. Default: Google's.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#]+/?$')",message="endpoint must be a URL such as https://minio.example:9000, without a path"
	Endpoint string `json:"endpoint,omitempty"`

	// ca holds authorities in PEM that are trusted besides the system's.
	// +optional
	CA *CASource `json:"ca,omitempty"`

	// credentials are a Secret with credentials.json, a key of a service account. Default: the
	// identity of the ServiceAccount.
	// +optional
	Credentials *SecretReference `json:"credentials,omitempty"`
}

// AzureStore is a container of Azure Blob Storage.
type AzureStore struct {
	// container is the name of the container. It must exist.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container"`

	// prefix is the folder for backups; empty for the whole container.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(part, part == '..' || part == '.')",message="prefix is the name of a folder: it begins with no slash, and does not go up"
	Prefix string `json:"prefix,omitempty"`

	// account is the name of the storage account.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=24
	Account string `json:"account"`

	// endpoint is the URL of the account's blobs. Default: https://<account>.blob.core.windows.net.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#]+/?$')",message="endpoint must be a URL such as https://minio.example:9000, without a path"
	Endpoint string `json:"endpoint,omitempty"`

	// ca holds authorities in PEM that are trusted besides the system's.
	// +optional
	CA *CASource `json:"ca,omitempty"`

	// credentials are a Secret with accountKey, or with sasToken. Default: the identity of the
	// ServiceAccount.
	// +optional
	Credentials *SecretReference `json:"credentials,omitempty"`
}

// VolumeStore is a PersistentVolumeClaim.
type VolumeStore struct {
	// claim is the name of the PersistentVolumeClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim"`

	// path is the folder for backups on the volume. Default: its root.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(part, part == '..' || part == '.')",message="path is the name of a folder on the volume: it begins with no slash, and does not go up"
	Path string `json:"path,omitempty"`
}

// SecretReference names a Secret in the same namespace.
type SecretReference struct {
	// secret is its name.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Secret string `json:"secret"`
}

// CASource names what holds authorities in PEM: a Secret or a ConfigMap in the same namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.secret) != has(self.configMap)",message="ca names either a secret or a configMap"
type CASource struct {
	// secret is the name of a Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Secret string `json:"secret,omitempty"`

	// configMap is the name of a ConfigMap.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ConfigMap string `json:"configMap,omitempty"`

	// key within it. Default ca.crt.
	// +optional
	// +kubebuilder:default=ca.crt
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// EtcdBackupStoreStatus is what the last look at a store found.
type EtcdBackupStoreStatus struct {
	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed Generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions is Ready: the store can be reached, listed, written and read; else the message
	// quotes it and says what to do.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=2
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// type is S3, GCS, Azure or Volume.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Type string `json:"type,omitempty"`

	// backups is the number of backups that lie in the store, also of other namespaces and programs.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Backups",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Backups int32 `json:"backups,omitempty"`

	// storedSize is what all of them take.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Stored Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	StoredSize *resource.Quantity `json:"storedSize,omitempty"`

	// newest is the newest backup in the store that an operator has made.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Newest",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	Newest *NewestBackup `json:"newest,omitempty"`

	// clockSkew is by how much the store's clock is ahead of the node's; negative if it is behind.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Clock Skew",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=7
	ClockSkew *metav1.Duration `json:"clockSkew,omitempty"`

	// checkedAt is when the store was last looked at.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Checked At",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=8
	CheckedAt *metav1.Time `json:"checkedAt,omitempty"`

	// triedAt is when writing was last tried, which is done once an hour and after changes.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Tried At",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=9
	TriedAt *metav1.Time `json:"triedAt,omitempty"`

	// failures is how many looks in a row have failed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Failures",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=10
	Failures int32 `json:"failures,omitempty"`

	// checkedBy is the UID of the Job whose answer this is.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Checked By",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=11
	CheckedBy string `json:"checkedBy,omitempty"`

	// request is the value of the annotation etcd-operator.dev/check that was followed last.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Request",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=12
	Request string `json:"request,omitempty"`

	// sources are the versions that the Secrets and ConfigMaps of the spec had at the last look: with
	// others the store is looked at again.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Sources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=13
	Sources string `json:"sources,omitempty"`

	// shown is a hash of the names of all EtcdBackups that stood for something in the store after the
	// last look: when it is another one, the store is looked at again.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Shown",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:hidden"},order=14
	Shown string `json:"shown,omitempty"`

	// hidden is of how many of the backups no EtcdBackup is made. It is made of the newest 1000, and of
	// the newest 5 of each cluster. An EtcdBackup with spec.store and spec.found, the path in the store,
	// shows any other one.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Hidden",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=15
	Hidden int32 `json:"hidden,omitempty"`
}

// NewestBackup is the newest backup in a store.
type NewestBackup struct {
	// name of its EtcdBackup.
	Name string `json:"name"`

	// revision of etcd's data in it.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// time when it was begun.
	// +optional
	Time metav1.Time `json:"time,omitzero"`
}
