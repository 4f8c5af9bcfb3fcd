// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// asSnapshot has a VolumeSnapshot be the backup.
func asSnapshot(b *v1beta1.EtcdBackup) {
	b.Spec.VolumeSnapshot = &v1beta1.VolumeSnapshotBackup{ClassName: "fast"}
	b.Status.Store, b.Status.Path, b.Status.ManifestSHA256 = "", b.Name+"-1", ""
	b.Status.VolumeSnapshot = &v1beta1.VolumeSnapshotReference{
		Name: b.Name + "-1", UID: "s-uid", StorageClass: "ssd", Size: resource.MustParse("1Gi"),
	}
}

// TestAClusterBeginsWithASnapshot: no store is needed, and the plan has what the Jobs read.
func TestAClusterBeginsWithASnapshot(t *testing.T) {
	w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
	w.view.Store = nil
	asSnapshot(&w.view.Backups[0])
	var done []string
	for range 3 {
		step, because := restore.NextOfVolumes(w.view)
		w.obey(step)
		done = append(done, because)
	}
	if done[0] != "choose the backup" || done[1] != "create volumes" || done[2] != "create jobs" {
		t.Errorf("%q", done)
	}
	if plan := w.status(); plan.VolumeSnapshot == nil || plan.VolumeSnapshot.Name != "first-1" || plan.Path != "first-1" || plan.Verified {
		t.Errorf("%+v", plan)
	}
}

// TestSafetyBySnapshot: where no store is known, what is restored as a VolumeSnapshot is secured as one; a store of the cluster comes
// first.
func TestSafetyBySnapshot(t *testing.T) {
	for _, store := range []string{"", "offsite"} {
		w := newRequestWorld(t)
		asSnapshot(&w.view.Backups[1])
		w.view.Restore.Spec.Backup, w.view.Revision = "second", 1000
		if store != "" {
			w.view.Cluster.Spec.Backup = &v1beta1.Backup{Store: store}
		}
		record, records := nextOf(t, w).(restore.Record)
		if !records {
			t.Fatal("it is not previewed")
		}
		w.view.Restore.Status = record.Status
		w.view.Restore.Spec.Confirm = record.Status.Preview.Confirm
		step, backsUp := nextOf(t, w).(restore.BackUp)
		if !backsUp || step.Store != store || (step.Snapshot != nil) != (store == "") {
			t.Errorf("with store %q: %+v", store, step)
		}
	}
}

func nextOf(t *testing.T, w *requestWorld) restore.Step {
	t.Helper()
	step, _ := restore.Next(w.view)
	return step
}
