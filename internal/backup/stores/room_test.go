// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/stores"
)

// full is a store in which 42 clusters back up every hour of two days, and one that was lost before has a few backups. One more name has
// a new EtcdCluster, which is empty.
func full(t *testing.T) *world {
	w := newWorld(t.Errorf)
	put := func(cluster, uid string, n int, at time.Time, problem string) {
		w.content = append(w.content, jobspec.Found{
			Path: fmt.Sprintf("v1/prod/%s/%s-%d", cluster, uid, n), Problem: problem,
			Backup: jobspec.Facts{
				Name: fmt.Sprintf("%s-%s-%d", cluster, uid, n), Namespace: "prod", Cluster: cluster, ClusterUID: uid, ClusterID: cluster + uid,
				Revision: int64(1000 - n), Stored: 1 << 20, StartedAt: at,
			},
		})
	}
	for hour := range 48 {
		for n := range 42 {
			put(fmt.Sprintf("busy%d", n), "u", hour, start.Add(-time.Duration(hour)*time.Hour), "")
		}
		put("again", "new", hour, start.Add(-time.Duration(hour)*time.Hour), "")
	}
	for n := range 9 {
		put("lost", "u", n, start.AddDate(0, 0, -30-n), "")
		put("again", "old", n, start.AddDate(0, 0, -30-n), "")
		put("lost", "torn", n, start.AddDate(0, 0, -20-n), "corrupt")
	}
	return w
}

// shows says which paths have an EtcdBackup after the store was looked at.
func (w *world) shows(t *testing.T) map[string]bool {
	for range 9 {
		step, _ := stores.Next(w.view())
		if wait, waits := step.(stores.Wait); waits && !w.v.Job.Exists {
			if wait.Until.IsZero() {
				t.Fatal("it is not looked at again")
			}
			break
		}
		w.obey(step)
		if w.v.Job.Exists && !w.v.Job.Ended {
			w.endJob()
		}
	}
	shown := map[string]bool{}
	for i := range w.v.Backups {
		shown[w.v.Backups[i].Spec.Found] = true
	}
	return shown
}

// TestNewestOfEachClusterIsShown: however many others back up into the store, the newest that can be restored of each cluster have an
// EtcdBackup, also of a cluster that had the name before.
func TestNewestOfEachClusterIsShown(t *testing.T) {
	w := full(t)
	shown := w.shows(t)
	for n := range 5 {
		for _, path := range []string{"v1/prod/lost/u-", "v1/prod/again/old-", "v1/prod/again/new-", "v1/prod/busy41/u-"} {
			if path = fmt.Sprint(path, n); !shown[path] {
				t.Errorf("%s has no EtcdBackup", path)
			}
		}
	}
	if hidden := int(w.v.Store.Status.Hidden); len(shown) != 1000 || hidden != len(w.content)-1000 {
		t.Errorf("%d EtcdBackups, and %d are hidden", len(shown), hidden)
	}
}

// TestClustersWithoutEnd: of a store with more clusters than there is room for, the newest backup of as many as possible is shown.
func TestClustersWithoutEnd(t *testing.T) {
	w := newWorld(t.Errorf)
	for n := range 7000 {
		w.lies(fmt.Sprintf("v1/old/c%d/1", n/2+n%2*10000), fmt.Sprint("b", n), "", "", start.Add(-time.Duration(n)*time.Minute))
		w.content[n].Backup.Cluster = fmt.Sprint("c", n/2)
	}
	shown := w.shows(t)
	newest := 0
	for n := range 3000 {
		if shown[fmt.Sprintf("v1/old/c%d/1", n)] {
			newest++
		}
	}
	if len(shown) != 3000 || newest != 3000 {
		t.Errorf("%d EtcdBackups, %d of them the newest of their cluster", len(shown), newest)
	}
}
