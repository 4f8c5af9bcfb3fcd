// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Backup is an EtcdBackup in one line.
type Backup struct {
	Name     string    `json:"name"`
	Cluster  string    `json:"cluster,omitempty"`
	Phase    string    `json:"phase,omitempty"`
	Revision int64     `json:"revision,omitempty"`
	Size     string    `json:"size,omitempty"`
	Verified string    `json:"verified"` // True, False or Unknown, with the reason where it is not True
	Time     time.Time `json:"time"`     // what was written later is not in it
	Store    string    `json:"store,omitempty"`
}

// BackupOf is the line of an EtcdBackup.
func BackupOf(b *v1beta1.EtcdBackup) Backup {
	line := Backup{
		Name: b.Name, Cluster: ClusterOf(b), Phase: string(b.Status.Phase), Revision: b.Status.Revision, Verified: verified(b),
		Time: TakenAt(b).UTC(), Store: cmp.Or(b.Status.Store, b.Spec.Store),
	}
	if b.Status.StoredSize != nil {
		line.Size = b.Status.StoredSize.String()
	}
	return line
}

// ClusterOf is the name of the cluster that the backup is of; of one that was found, its manifest says it.
func ClusterOf(b *v1beta1.EtcdBackup) string { return cmp.Or(b.Status.Cluster, b.Spec.Cluster) }

// SourceOf is that cluster with its namespace before it, NAMESPACE/NAME, if the folder of the backup says so: one that was found in a store
// may be of another namespace.
func SourceOf(b *v1beta1.EtcdBackup) string {
	if folder := strings.Split(b.Status.Path, "/"); len(folder) == 4 && folder[0] == "v1" {
		return folder[1] + "/" + folder[2]
	}
	return ClusterOf(b)
}

// TakenAt is when the snapshot was begun, and before it was, when the EtcdBackup was created.
func TakenAt(b *v1beta1.EtcdBackup) time.Time {
	if at := v1beta1.BegunAt(b); !at.IsZero() {
		return at
	}
	if at := b.Status.FinishedAt; !at.IsZero() {
		return at.Time
	}
	return b.CreationTimestamp.Time
}

// IsVerified says whether an etcd has served the backup.
func IsVerified(b *v1beta1.EtcdBackup) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionVerified)
}

func verified(b *v1beta1.EtcdBackup) string {
	condition := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionVerified)
	switch {
	case condition == nil:
		return string(metav1.ConditionUnknown)
	case condition.Status == metav1.ConditionTrue:
		return string(condition.Status)
	default:
		return string(condition.Status) + " (" + condition.Reason + ")"
	}
}

// Newest sorts backups, the newest first, as the operator does that chooses one.
func Newest(backups []v1beta1.EtcdBackup) []v1beta1.EtcdBackup {
	ranked := v1beta1.NewestFirst(backups, func(b v1beta1.EtcdBackup) v1beta1.BackupAge {
		age := v1beta1.AgeOf(&b)
		age.Time = TakenAt(&b)
		return age
	})
	sorted := make([]v1beta1.EtcdBackup, len(ranked))
	for i := range ranked {
		sorted[i] = ranked[i].Backup
	}
	return sorted
}

// Best are the backups in the order in which a person would take them: verified ones first, the newest of these first.
func Best(backups []v1beta1.EtcdBackup) []v1beta1.EtcdBackup {
	sorted := Newest(backups)
	slices.SortStableFunc(sorted, func(a, b v1beta1.EtcdBackup) int { return rank(&a) - rank(&b) })
	return sorted
}

func rank(b *v1beta1.EtcdBackup) int {
	if IsVerified(b) {
		return 0
	}
	return 1
}

// Outcome says whether a backup has come to an end: verified, or as far as it will get. problem is why it is of no use, or of unknown use.
func Outcome(b *v1beta1.EtcdBackup) (ended bool, problem, result string) {
	complete := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionComplete)
	verified := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionVerified)
	if complete == nil || verified == nil {
		return false, "", ""
	}
	switch b.Status.Phase {
	case v1beta1.BackupFailed:
		return true, complete.Reason + ": " + complete.Message, ""
	case v1beta1.BackupDeleting:
		return true, "it is being deleted", ""
	case v1beta1.BackupComplete:
	default:
		return false, "", ""
	}
	stored := fmt.Sprintf("backup %s is %%s: revision %d, %s in store %s", b.Name, b.Status.Revision, BackupOf(b).Size, b.Status.Store)
	switch {
	case verified.Status == metav1.ConditionTrue:
		return true, "", fmt.Sprintf(stored, "verified") + "; " + verified.Message
	case verified.Status == metav1.ConditionUnknown && verified.Reason == v1beta1.ReasonNotWanted:
		return true, "", fmt.Sprintf(stored, "complete") + "; no verification was requested"
	default:
		return true, "it is stored, and not verified: " + verified.Reason + ": " + verified.Message, ""
	}
}
