// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RestoreTarget is a moment between two full backups, which the continuous log leads to: the newest full backup that is older is restored,
// and the changes after it are replayed. Exactly one of time, revision and beforeDelete is given. A target that the full backups and the
// log in the store do not lead to is refused, with the nearest ones that they do.
//
// +kubebuilder:validation:XValidation:rule="[has(self.time), has(self.revision), has(self.beforeDelete)].filter(given, given).size() == 1",message="a target is exactly one of time, revision and beforeDelete"
// +kubebuilder:validation:XValidation:rule="!has(self.exclusive) || !self.exclusive || !has(self.beforeDelete)",message="exclusive goes with time or revision: beforeDelete leaves the deletion out by itself"
type RestoreTarget struct {
	// time restores every change that had come until then, such as 2026-11-24T10:00:00Z, with up to six places after the second. It is
	// compared with the clock of the process that wrote the log: etcd itself has no times.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})$')",message="target.time must be a time such as 2026-11-24T10:00:00Z or 2026-11-24T10:00:00.123456+01:00"
	Time string `json:"time,omitempty"`

	// revision is the last one of etcd that is restored.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision,omitempty"`

	// exclusive leaves out what came at just that time, or with just that revision. Default false.
	// +optional
	Exclusive bool `json:"exclusive,omitempty"`

	// beforeDelete is a key: everything is restored up to just before the newest deletion of it that the log has. The log is read backwards
	// for it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	BeforeDelete string `json:"beforeDelete,omitempty"`
}

// RestoreLog is what the continuous log adds to a full backup, up to the target of a restore.
type RestoreLog struct {
	// lineage is the folder of the log in the store. Each restore and recovery of a cluster begins another one.
	// +optional
	Lineage string `json:"lineage,omitempty"`

	// backupRevision is that of the full backup; what follows comes from the log.
	// +optional
	BackupRevision int64 `json:"backupRevision,omitempty"`

	// size is how many bytes of changes are replayed, before compression.
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`

	// changedAt is when the last change that is restored had come.
	// +optional
	ChangedAt *metav1.MicroTime `json:"changedAt,omitempty"`

	// nextRevision is that of the first change in the log that is left out; 0 if the log ends before it.
	// +optional
	NextRevision int64 `json:"nextRevision,omitempty"`

	// nextAt is when that change had come.
	// +optional
	NextAt *metav1.MicroTime `json:"nextAt,omitempty"`
}

// SizeAfterLog is what the database has at most once the log was replayed onto it; nil if the size of the backup is not known.
func (s *RestoreStatus) SizeAfterLog() *resource.Quantity {
	return s.Log.SizeAfter(s.DatabaseSize)
}

// SizeAfter is what a database has at most once the changes were written into it: pages of bbolt are filled to nine tenths, and an entry
// has some bytes beside its key and value. nil if the size before is not known.
func (l *RestoreLog) SizeAfter(database *resource.Quantity) *resource.Quantity {
	if l == nil || l.Size == nil || database == nil {
		return database
	}
	changes := l.Size.Value()
	return resource.NewQuantity(database.Value()+changes+changes/4, resource.BinarySI)
}
