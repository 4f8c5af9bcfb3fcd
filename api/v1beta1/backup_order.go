// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

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
	ClusterUID string    // of the EtcdCluster
	ClusterID  string    // etcd's, in hexadecimal; empty: not known
	Recoveries int64     // how often the EtcdCluster had gone on without acknowledged writes: its revisions began again from a lower one
	Revision   int64     // of the data; 0: not known
	Time       time.Time // when it was begun
	Name       string    // decides between equals
}

// Ranked is a backup in the order of NewestFirst.
//
// +kubebuilder:object:generate=false
type Ranked[T any] struct {
	Backup T
	Time   time.Time // when it counts as begun: no later than that of the backup before it in the order
}

// NewestFirst sorts backups. What decides within one EtcdCluster and one cluster ID is how often it was recovered, and then the revision,
// because clocks of nodes may be wrong. A restore has another cluster ID, and volumes may have been put back before another EtcdCluster
// took them up: across these the time decides. A backup never counts as older than one that is older by the first rule: otherwise the
// order would have circles.
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
		return cmp.Or(strings.Compare(a.ClusterID, b.ClusterID), strings.Compare(a.ClusterUID, b.ClusterUID),
			cmp.Compare(a.Recoveries, b.Recoveries), cmp.Compare(a.Revision, b.Revision), a.Time.Compare(b.Time))
	})
	for i := 1; i < len(sorted); i++ {
		before := sorted[i-1]
		isSame := before.ClusterID == sorted[i].ClusterID && before.ClusterUID == sorted[i].ClusterUID
		if before.ClusterID != "" && isSame && before.Time.After(sorted[i].Time) {
			sorted[i].Time = before.Time
		}
	}
	slices.SortFunc(sorted, func(a, b aged) int {
		return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.ClusterID, b.ClusterID), strings.Compare(a.ClusterUID, b.ClusterUID),
			cmp.Compare(b.Recoveries, a.Recoveries), cmp.Compare(b.Revision, a.Revision), strings.Compare(a.Name, b.Name))
	})
	ranked := make([]Ranked[T], len(all))
	for i, b := range sorted {
		ranked[i] = Ranked[T]{b.backup, b.Time}
	}
	return ranked
}

// AgeOf is what decides how new a backup is.
func AgeOf(b *EtcdBackup) BackupAge {
	s := b.Status
	return BackupAge{s.ClusterUID, s.ClusterID, s.Recoveries, s.Revision, BegunAt(b), b.Name}
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
