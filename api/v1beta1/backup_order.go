package v1beta1

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
)

// BackupAge is what decides which of several backups is newer.
//
// +kubebuilder:object:generate=false
type BackupAge struct {
	ClusterID string    // etcd's, in hexadecimal; empty: not known
	Revision  int64     // of the data; 0: not known
	Time      time.Time // when it was begun
	Name      string    // decides between equals
}

// Ranked is a backup in the order of NewestFirst.
//
// +kubebuilder:object:generate=false
type Ranked[T any] struct {
	Backup T
	Time   time.Time // when it counts as begun: no later than that of the backup before it in the order
}

// NewestFirst sorts backups. Within one cluster ID the revision decides, because clocks of nodes may be wrong. Across cluster IDs the time
// decides. A backup never counts as older than one of a lower revision of the same cluster ID: otherwise the order would have circles.
func NewestFirst[T any](all []T, age func(T) BackupAge) []Ranked[T] {
	type aged struct {
		BackupAge
		backup T
	}
	sorted := make([]aged, len(all))
	for i, b := range all {
		if sorted[i] = (aged{age(b), b}); sorted[i].Revision == 0 {
			sorted[i].ClusterID = ""
		}
	}
	slices.SortFunc(sorted, func(a, b aged) int {
		return cmp.Or(strings.Compare(a.ClusterID, b.ClusterID), cmp.Compare(a.Revision, b.Revision), a.Time.Compare(b.Time))
	})
	for i := 1; i < len(sorted); i++ {
		before := sorted[i-1]
		if before.ClusterID != "" && before.ClusterID == sorted[i].ClusterID && before.Time.After(sorted[i].Time) {
			sorted[i].Time = before.Time
		}
	}
	slices.SortFunc(sorted, func(a, b aged) int {
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.ClusterID, b.ClusterID), cmp.Compare(b.Revision, a.Revision),
			strings.Compare(a.Name, b.Name))
	})
	ranked := make([]Ranked[T], len(all))
	for i, b := range sorted {
		ranked[i] = Ranked[T]{b.backup, b.Time}
	}
	return ranked
}

// AgeOf is what decides how new a backup is.
func AgeOf(b *EtcdBackup) BackupAge {
	return BackupAge{ClusterID: b.Status.ClusterID, Revision: b.Status.Revision, Time: BegunAt(b), Name: b.Name}
}

// BegunAt is when the snapshot of a backup was begun; zero if that is not known. The status has it by the clock of the node of the Job. It
// is not believed if the backup was complete before that moment or, if this very object had the backup made, if the object did not
// exist yet.
func BegunAt(b *EtcdBackup) time.Time {
	created := b.CreationTimestamp.Time
	if b.Status.StartedAt.IsZero() {
		return time.Time{}
	}
	at, seen := b.Status.StartedAt.Time, time.Time{}
	if c := meta.FindStatusCondition(b.Status.Conditions, ConditionComplete); c != nil && !c.LastTransitionTime.IsZero() {
		seen = later(created, c.LastTransitionTime.Time)
	}
	isMadeByThis := b.Spec.Found == "" && b.UID != "" && strings.Contains(b.Status.Path, string(b.UID))
	switch {
	case !seen.IsZero() && at.After(seen):
		return seen
	case isMadeByThis && at.Before(created):
		return created
	}
	return at
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
