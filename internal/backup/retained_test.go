// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// keptBackup is one that stays: of this cluster, under etcd's ID c1, of a revision.
func keptBackup(name string, revision int64) v1beta1.EtcdBackup {
	b := v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name)}}
	b.Status = v1beta1.EtcdBackupStatus{Path: "v1/ns/a/" + name, Revision: revision, ClusterID: "c1", ClusterUID: "c-uid"}
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{Type: v1beta1.ConditionComplete, Status: metav1.ConditionTrue})
	return b
}

// deleting is a full backup of revision 100 that is deleted, beside those that stay.
func deleting(stay ...v1beta1.EtcdBackup) backup.Seen {
	s := seen()
	going := keptBackup("b", 100)
	going.Spec, going.DeletionTimestamp = v1beta1.EtcdBackupSpec{Cluster: "a", DeletionPolicy: v1beta1.DeleteBackup}, &metav1.Time{Time: start}
	s.Backup, s.Present, s.Kept = &going, s.Cluster, append([]v1beta1.EtcdBackup{going}, stay...)
	return s
}

func logOf(t *testing.T, s backup.Seen) *log.Retained {
	t.Helper()
	_, orders := ordered(t, s, backup.Delete, nil)
	return orders[0].Delete.Log
}

const c1, c2 = "00000000000000c1", "00000000000000c2"

// TestWhatStaysOfTheLog: what leads on from the oldest full backup that stays, in each lineage that it may be of; and of a history of which
// none is left, nothing but the present.
func TestWhatStaysOfTheLog(t *testing.T) {
	of := func(id, uid string, revision int64) v1beta1.EtcdBackup {
		b := keptBackup(fmt.Sprint(id, uid, revision), revision)
		b.Status.ClusterID, b.Status.ClusterUID = id, uid
		return b
	}
	x, y := keptBackup("x", 200), keptBackup("y", 300)
	type all = []v1beta1.EtcdBackup
	type from = []log.KeptFrom
	after := func(id string, n int, base int64) log.KeptFrom {
		return log.KeptFrom{Lineage: fmt.Sprintf("%s-%d", id, n), Base: base}
	}
	for name, c := range map[string]struct {
		stay       []v1beta1.EtcdBackup
		recoveries int64
		from       []log.KeptFrom
		gone       string
	}{
		"none":                   {nil, 0, nil, c1},
		"two":                    {all{y, x}, 0, from{after(c1, 0, 200)}, ""},
		"after a recovery":       {all{x}, 1, from{after(c1, 0, 200), after(c1, 1, 200)}, ""},
		"after a restore":        {all{of("c2", "c-uid", 900)}, 0, from{after(c2, 0, 900)}, c1},
		"of an earlier cluster":  {all{of("c2", "other", 50)}, 0, nil, c1},
		"of two with one ID":     {all{of("c1", "other", 50), x}, 0, nil, ""},
		"of which none has it":   {all{of("c1", "other", 50)}, 0, nil, ""},
		"that is being deleted":  {all{goes(x, v1beta1.DeleteBackup), y}, 0, from{after(c1, 0, 300)}, ""},
		"whose object goes":      {all{goes(x, v1beta1.RetainBackup), y}, 0, from{after(c1, 0, 200)}, ""},
		"that is not there yet":  {all{without(x), y}, 0, from{after(c1, 0, 300)}, ""},
		"of a cluster like this": {all{in(x, "v1/ns/ab/x")}, 0, nil, c1},
	} {
		s := deleting(c.stay...)
		s.Cluster.Status.Recoveries = c.recoveries
		got := logOf(t, s)
		present := log.Lineage(0xc1, int(c.recoveries))
		if got == nil || got.Namespace != "ns" || got.Cluster != "a" || got.Lineage != present || !slices.Equal(got.From, c.from) ||
			got.Gone != c.gone {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func goes(b v1beta1.EtcdBackup, policy v1beta1.BackupDeletionPolicy) v1beta1.EtcdBackup {
	b.DeletionTimestamp, b.Spec.DeletionPolicy = &metav1.Time{Time: start}, policy
	return b
}

func without(b v1beta1.EtcdBackup) v1beta1.EtcdBackup {
	b.Status.Conditions = nil
	return b
}

func in(b v1beta1.EtcdBackup, path string) v1beta1.EtcdBackup {
	b.Status.Path = path
	return b
}

// TestAllOfTheLogStays where it is not known what is needed.
func TestAllOfTheLogStays(t *testing.T) {
	for name, change := range map[string]func(*backup.Seen){
		"no cluster":                            func(s *backup.Seen) { s.Present = nil },
		"a cluster that has not formed":         func(s *backup.Seen) { s.Present.Status.ClusterID = "" },
		"a list without this one":               func(s *backup.Seen) { s.Kept = s.Kept[1:] },
		"no list":                               func(s *backup.Seen) { s.Kept = nil },
		"a backup of another cluster":           func(s *backup.Seen) { s.Backup.Status.Path = "v1/ns/other/b" },
		"a backup of another namespace":         func(s *backup.Seen) { s.Backup.Status.Path = "v1/other/a/b" },
		"a backup of another program":           func(s *backup.Seen) { s.Backup.Status.Path = "old/snapshot.db" },
		"one that stays and has no ID":          func(s *backup.Seen) { s.Kept[1].Status.ClusterID = "" },
		"one that stays and has no revision":    func(s *backup.Seen) { s.Kept[1].Status.Revision = 0 },
		"an ID that is none, of one that stays": func(s *backup.Seen) { s.Kept[1].Status.ClusterID = "x" },
	} {
		s := deleting(keptBackup("x", 200))
		if change(&s); logOf(t, s) != nil {
			t.Errorf("%s: %+v", name, logOf(t, s))
		}
	}
}
