package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Backup says how a cluster is backed up, where its EtcdBackups do not say it.
type Backup struct {
	// store is the name of the EtcdBackupStore in the same namespace.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Store string `json:"store"`

	// encryption encrypts backups with age.
	// +optional
	Encryption *BackupEncryption `json:"encryption,omitempty"`

	// decryption is a Secret with age identities in its key identities, by which encrypted backups are
	// verified. Without it they cannot be.
	// +optional
	Decryption *SecretReference `json:"decryption,omitempty"`

	// verify is Always (each backup is restored on trial), Daily (one a day is) or Never. Default:
	// Always while the database is below 1Gi, and Daily above.
	// +optional
	Verify VerifyPolicy `json:"verify,omitempty"`
}

// VerifyPolicy says which backups are restored on trial.
// +kubebuilder:validation:Enum=Always;Daily;Never
type VerifyPolicy string

const (
	// VerifyAlways restores each backup on trial.
	VerifyAlways VerifyPolicy = "Always"
	// VerifyDaily restores one a day.
	VerifyDaily VerifyPolicy = "Daily"
	// VerifyNever restores none.
	VerifyNever VerifyPolicy = "Never"
)

// Restore says which backup a new cluster begins with. Either backup, or store with cluster and at, is given.
//
// +kubebuilder:validation:XValidation:rule="has(self.backup) != has(self.store)",message="bootstrap.restore names either a backup, or a store with cluster and at"
// +kubebuilder:validation:XValidation:rule="has(self.store) || !has(self.cluster) && !has(self.at)",message="bootstrap.restore.cluster and at go with store: backup names one backup already"
type Restore struct {
	// backup is the name of an EtcdBackup in the same namespace, whichever cluster it is of.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Backup string `json:"backup,omitempty"`

	// store is the name of an EtcdBackupStore in the same namespace, in which a backup is looked for.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Store string `json:"store,omitempty"`

	// cluster is the name of the cluster whose backup is looked for, as <namespace>/<name>, or
	// as <name> in this namespace. Default: the name of this one.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	Cluster string `json:"cluster,omitempty"`

	// at is latest, a revision, such as 123456, or a time, such as 2026-11-24T10:00:00Z: of a time or
	// a revision, the newest backup that is not newer is taken. Default latest.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == 'latest' || self.matches('^[0-9]{1,19}$') || self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})$')",message="bootstrap.restore.at must be latest, a revision such as 123456, or a time such as 2026-11-24T10:00:00Z"
	At string `json:"at,omitempty"`

	// decryption is a Secret with age identities in its key identities, for an encrypted backup.
	// +optional
	Decryption *SecretReference `json:"decryption,omitempty"`
}

// RestoreStatus is the restore that a cluster began with, or the last one in place. What is restored is fixed before the first
// volume is made.
type RestoreStatus struct {
	// request is the EtcdRestore that has asked for it; empty if the cluster began with it. The restore goes on
	// when that object is deleted.
	// +optional
	Request string `json:"request,omitempty"`

	// requestUID is the UID of that EtcdRestore.
	// +optional
	RequestUID string `json:"requestUID,omitempty"`

	// undo is true while, and after, the members before that restore are brought back.
	// +optional
	Undo bool `json:"undo,omitempty"`

	// setAside are the members that give way to those below. Their volumes are kept.
	// +optional
	// +listType=atomic
	SetAside []string `json:"setAside,omitempty"`

	// keepFor is how long these volumes are kept.
	// +optional
	KeepFor *metav1.Duration `json:"keepFor,omitempty"`

	// store is the EtcdBackupStore in which the backup lies.
	// +optional
	Store string `json:"store,omitempty"`

	// path is the folder of the backup in the store.
	// +optional
	Path string `json:"path,omitempty"`

	// backup is the name of its EtcdBackup.
	// +optional
	Backup string `json:"backup,omitempty"`

	// manifestSHA256 is the sha256 of the backup's manifest: another one is refused.
	// +optional
	ManifestSHA256 string `json:"manifestSHA256,omitempty"`

	// revision of etcd's data in the backup.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// bump is what is added to the revision, so that no client sees a revision again that meant something else.
	// +optional
	Bump int64 `json:"bump,omitempty"`

	// keys is the number of keys in the backup, if it is known.
	// +optional
	Keys *int64 `json:"keys,omitempty"`

	// time of the backup: what was written later is not in it.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`

	// version of etcd that the members start with; spec.version follows, as in any upgrade.
	// +optional
	Version string `json:"version,omitempty"`

	// decryption is the Secret with the identities, if the backup is encrypted.
	// +optional
	Decryption string `json:"decryption,omitempty"`

	// members are the first members, whose volumes get the data; after undo those that had it before.
	// +optional
	// +listType=atomic
	Members []string `json:"members,omitempty"`

	// progress says how far it is.
	// +optional
	Progress string `json:"progress,omitempty"`

	// problem says why it does not go on, and what to do.
	// +optional
	Problem string `json:"problem,omitempty"`

	// failure is why the last Job that failed did. It is forgotten when another Job for that member gets on.
	// +optional
	Failure *RestoreFailure `json:"failure,omitempty"`

	// restoredAt is when the volumes of all members had the data. In place, the old members are stopped from then on.
	// +optional
	RestoredAt *metav1.Time `json:"restoredAt,omitempty"`

	// completedAt is when the cluster served the data.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
}

// RestoreFailure is why a Job failed that was to restore the data of a member.
type RestoreFailure struct {
	// member whose volume was to get the data.
	Member string `json:"member"`

	// message quotes the store, etcd or Kubernetes, and says what to do.
	Message string `json:"message"`

	// final is true if the next Job fails in the same way unless somebody changes something.
	// +optional
	Final bool `json:"final,omitempty"`
}
