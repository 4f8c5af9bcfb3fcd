// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func age(name, cluster string, revision int64, ago time.Duration) v1beta1.BackupAge {
	return v1beta1.BackupAge{ClusterID: cluster, Revision: revision, Time: noon.Add(-ago), Name: name}
}

// recovered is a backup that was made after so many recoveries.
func recovered(times int64, a v1beta1.BackupAge) v1beta1.BackupAge {
	a.Recoveries = times
	return a
}

// TestNewestFirst: within a cluster ID the number of recoveries decides, and then the revision; across them the time.
func TestNewestFirst(t *testing.T) {
	for about, c := range map[string]struct {
		all  []v1beta1.BackupAge
		want string
	}{
		"times":                    {[]v1beta1.BackupAge{age("a", "x", 5, 3*time.Hour), age("b", "y", 4, time.Hour)}, "b a"},
		"a node with a late clock": {[]v1beta1.BackupAge{age("a", "x", 5, 3*time.Hour), age("b", "x", 6, 9*time.Hour)}, "b a"},
		"a circle of three": {
			[]v1beta1.BackupAge{age("a", "x", 10, time.Hour), age("b", "y", 1, 3*time.Hour), age("c", "x", 11, 5*time.Hour)}, "c a b",
		},
		"revisions that are not known": {[]v1beta1.BackupAge{age("a", "x", 0, time.Hour), age("b", "x", 7, 2*time.Hour)}, "a b"},
		"a forced recovery": {
			[]v1beta1.BackupAge{age("before", "x", 900, 3*time.Hour), recovered(1, age("since", "x", 500, time.Hour))}, "since before",
		},
		"a forced recovery, and a late clock": {
			[]v1beta1.BackupAge{age("before", "x", 900, time.Hour), recovered(1, age("since", "x", 500, 3*time.Hour))}, "since before",
		},
		"two recoveries": {
			[]v1beta1.BackupAge{
				age("a", "x", 900, 5*time.Hour), recovered(1, age("b", "x", 500, 4*time.Hour)),
				recovered(1, age("c", "x", 600, 3*time.Hour)), recovered(2, age("d", "x", 550, 2*time.Hour)),
			}, "d c b a",
		},
		"a restore in place from an older backup": {
			[]v1beta1.BackupAge{recovered(1, age("before", "x", 900, 3*time.Hour)), recovered(1, age("since", "y", 500, time.Hour))}, "since before",
		},
		"volumes put back, and taken up by another EtcdCluster": {
			[]v1beta1.BackupAge{
				recovered(1, age("before", "x", 900, 3*time.Hour)),
				{ClusterUID: "another", ClusterID: "x", Revision: 500, Time: noon.Add(-time.Hour), Name: "since"},
			}, "since before",
		},
		"equals": {[]v1beta1.BackupAge{age("b", "", 7, 0), age("a", "", 7, 0), age("c", "", 8, 0)}, "c a b"},
	} {
		for range 2 {
			if got := names(v1beta1.NewestFirst(c.all, itself)); got != c.want {
				t.Errorf("%s: %s, and not %s", about, got, c.want)
			}
			slices.Reverse(c.all)
		}
	}
}

func itself(a v1beta1.BackupAge) v1beta1.BackupAge { return a }

func names(all []v1beta1.Ranked[v1beta1.BackupAge]) string {
	var said []string
	for _, a := range all {
		said = append(said, a.Backup.Name)
	}
	return strings.Join(said, " ")
}

// TestNewestFirstIsOneOrder: it does not depend on how the backups are listed, and never has a lower revision of a cluster ID first.
func TestNewestFirstIsOneOrder(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 3)) //nolint:gosec // a walk that can be repeated
		var all []v1beta1.BackupAge
		for i := range 2 + random.IntN(8) {
			id, at := []string{"", "x", "y"}[random.IntN(3)], time.Duration(random.IntN(6))*time.Hour
			one := recovered(int64(random.IntN(2)), age(string(rune('a'+i)), id, int64(random.IntN(5)), at))
			one.ClusterUID = []string{"u", "v"}[random.IntN(2)]
			all = append(all, one)
		}
		once := names(v1beta1.NewestFirst(all, itself))
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		sorted := v1beta1.NewestFirst(all, itself)
		if again := names(sorted); again != once {
			t.Fatalf("seed %d: %s, and in another list %s", seed, once, again)
		}
		for i := range sorted {
			for j := range sorted[i+1:] {
				newer, older := sorted[i].Backup, sorted[i+1+j].Backup
				sameData := newer.ClusterID != "" && newer.ClusterID == older.ClusterID && newer.ClusterUID == older.ClusterUID &&
					newer.Revision > 0 && older.Revision > 0
				isOlder := newer.Recoveries < older.Recoveries || newer.Recoveries == older.Recoveries && newer.Revision < older.Revision
				if sorted[i].Time.Before(sorted[i+1+j].Time) || sameData && isOlder {
					t.Fatalf("seed %d: %+v before %+v", seed, newer, older)
				}
			}
		}
	}
}

// TestBegunAt: the clock of a node is believed only where it fits what the operator has seen.
func TestBegunAt(t *testing.T) {
	for about, c := range map[string]struct {
		path, found string
		began       time.Duration // after the object was created
		want        time.Duration
	}{
		"as it was":                      {"v1/ns/a/uid", "", time.Minute, time.Minute},
		"for the future":                 {"v1/ns/a/uid", "", 87600 * time.Hour, 5 * time.Minute},
		"before it was asked for":        {"v1/ns/a/uid-2", "", -time.Hour, 0},
		"found, and older":               {"v1/ns/a/other", "v1/ns/a/other", -time.Hour, -time.Hour},
		"found, and for the future":      {"v1/ns/a/other", "v1/ns/a/other", 87600 * time.Hour, 5 * time.Minute},
		"made by an object of that name": {"v1/ns/a/other", "", -time.Hour, -time.Hour},
	} {
		b := &v1beta1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{UID: "uid", CreationTimestamp: metav1.NewTime(noon)}}
		b.Spec.Found, b.Status.Path = c.found, c.path
		b.Status.StartedAt = &metav1.Time{Time: noon.Add(c.began)}
		b.Status.Conditions = []metav1.Condition{{
			Type: v1beta1.ConditionComplete, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(5 * time.Minute)),
		}}
		if got := v1beta1.BegunAt(b).Sub(noon); got != c.want {
			t.Errorf("%s: %s, and not %s", about, got, c.want)
		}
	}
}
