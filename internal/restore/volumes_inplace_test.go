// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// newInPlace is a cluster whose three members run, and which is to be brought back to a backup.
func newInPlace(t *testing.T) *volumesWorld {
	t.Helper()
	w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
	c := w.view.Cluster
	c.Spec.Bootstrap = nil
	er := &v1beta1.EtcdRestore{Spec: v1beta1.EtcdRestoreSpec{Cluster: "a", Backup: "first"}}
	er.UID, w.view.Request = "er-1", er
	plan := restore.NewPlan(restore.InPlaceRequest(er, c), &w.view.Backups[0], restore.StartPoint{Serial: 3, Now: start})
	plan.Request, plan.RequestUID, plan.SetAside = "er", "er-1", []string{"a-0", "a-1", "a-2"}
	c.Status.ClusterID, c.Status.Bootstrap = "c0", &v1beta1.Bootstrap{Token: "uid", Members: plan.SetAside}
	for _, m := range plan.SetAside {
		claim := corev1.PersistentVolumeClaim{}
		claim.Name, claim.UID, claim.Annotations = m, w.uid("old"), map[string]string{v1beta1.AnnotationToken: "uid"}
		claim.Labels = map[string]string{v1beta1.LabelCluster: "a"}
		w.view.Claims[m] = claim
	}
	aside := corev1.PersistentVolumeClaim{}
	aside.Name, aside.Labels = "a-7", map[string]string{v1beta1.LabelQuarantined: "true"}
	w.view.Claims["a-7"] = aside
	w.view.Pods, w.view.Backups = slices.Clone(plan.SetAside), nil
	c.Status.Restore = &plan
	return w
}

// TestInPlaceFillsVolumesBesideMembers: the old members are not touched, and nothing says that they may be replaced before all volumes
// have the data.
func TestInPlaceFillsVolumesBesideMembers(t *testing.T) {
	w := newInPlace(t)
	w.settles()
	if w.jobs != 3 || len(w.view.Claims) != 7 || !w.view.Jobs["a-3"].Exists || w.status().RestoredAt != nil {
		t.Fatalf("%d jobs, %d volumes, %+v", w.jobs, len(w.view.Claims), w.status())
	}

	w.loseVolume("a-1") // it has left meanwhile
	w.succeed()
	w.settles()
	if !slices.Equal(w.status().SetAside, []string{"a-0", "a-2"}) {
		t.Errorf("%v are set aside", w.status().SetAside)
	}
	if w.status().RestoredAt == nil || len(w.view.Jobs) > 0 || !strings.Contains(w.status().Progress, "replaced by a-3, a-4, a-5") {
		t.Fatalf("%d jobs are left, %+v", len(w.view.Jobs), w.status())
	}
	for _, m := range []string{"a-0", "a-2"} {
		if len(w.view.Claims[m].Annotations) != 1 {
			t.Errorf("the volume of %s was changed: %v", m, w.view.Claims[m].Annotations)
		}
	}
	c := w.view.Cluster
	c.Status.Bootstrap, c.Status.ClusterID = &v1beta1.Bootstrap{Token: "uid", Members: w.status().Members, Restore: "er-1"}, ""
	if w.settles(); w.status().CompletedAt != nil {
		t.Error("it counts as served before the cluster is known by its ID")
	}
	c.Status.ClusterID, c.Status.Conditions = "c1", []metav1.Condition{{Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue}}
	if w.settles(); w.status().CompletedAt == nil {
		t.Error("the status does not say that the data is served")
	}
}

// TestInPlaceThereIsNoWayBack: a volume that is lost after all had the data is filled again, and the old members are still replaced: they
// may be stopped, and their volumes set aside.
func TestInPlaceThereIsNoWayBack(t *testing.T) {
	w := newInPlace(t)
	w.settles()
	w.succeed()
	w.settles()
	restored := w.status().RestoredAt
	w.loseVolume("a-4")
	w.settles()
	if !w.status().RestoredAt.Equal(restored) || w.jobs != 4 || !w.view.Jobs["a-4"].Exists {
		t.Fatalf("%d jobs, %+v", w.jobs, w.status())
	}
	w.succeed()
	w.settles()
	if len(w.view.Jobs) > 0 || w.view.Claims["a-4"].Annotations[v1beta1.AnnotationClusterID] != "c1" {
		t.Errorf("%v", slices.Sorted(maps.Keys(w.view.Jobs)))
	}
}

// TestInPlaceLeavesNamesakes: a volume of the next name that is foreign is not written to.
func TestInPlaceLeavesNamesakes(t *testing.T) {
	w := newInPlace(t)
	w.view.Claims["a-4"] = corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a-4"}}
	step := w.settles()
	if !strings.Contains(step.String(), "volume a-4 was not made for this restore") || w.jobs > 0 {
		t.Errorf("%s, and %d jobs", step, w.jobs)
	}
}

// TestInPlaceWaits while the cluster is paused or hibernates, and for a Secret, which it names as its user has.
func TestInPlaceWaits(t *testing.T) {
	for words, change := range map[string]func(*restore.VolumesView){
		"the end of the pause":                         func(v *restore.VolumesView) { v.Paused = "spec.paused is true" },
		"spec.size to be more than 0":                  func(v *restore.VolumesView) { v.Cluster.Spec.Size = ptr.To[int32](0) },
		"age, which spec.decryption of EtcdRestore er": func(v *restore.VolumesView) { v.NoSecret = "age" },
		"spec.image is not allowed":                    func(v *restore.VolumesView) { v.Forbidden = "spec.image is not allowed" },
		"EtcdBackupStore offsite does not exist":       func(v *restore.VolumesView) { v.Store = nil },
	} {
		w := newInPlace(t)
		change(&w.view)
		if step := w.settles(); !strings.Contains(step.String(), words) || len(w.view.Claims) > 4 {
			t.Errorf("%q: %s", words, step)
		}
	}
}

// turnRound has the restore be undone.
func (w *volumesWorld) turnRound() {
	turned := restore.Reversed(w.view.Cluster.Status.Restore, "")
	w.view.Cluster.Status.Restore = &turned
}

// TestInPlaceIsCancelled: the cluster stays as it was if the EtcdRestore is deleted before all volumes have the data, also when the
// store is gone and in a pause; after that the restore goes on.
func TestInPlaceIsCancelled(t *testing.T) {
	another := &v1beta1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{UID: "er-2"}}
	going := &v1beta1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{UID: "er-1", DeletionTimestamp: &metav1.Time{Time: start}}}
	for what, er := range map[string]*v1beta1.EtcdRestore{"gone": nil, "another of its name": another, "on its way out": going} {
		w := newInPlace(t)
		w.settles()
		w.view.Request, w.view.Store, w.view.Paused = er, nil, "spec.paused is true"
		w.settles()
		c := w.view.Cluster
		if len(w.view.Jobs) > 0 || w.status().CompletedAt == nil || c.IsRestoring() || !c.Status.Restore.IsCancelled() {
			t.Errorf("%s: %d jobs, %+v", what, len(w.view.Jobs), w.status())
		}
		if want := []string{"RestoreCancelled", "RestoreUndone"}; !slices.Equal(w.events, want) {
			t.Errorf("%s: events %v, want %v", what, w.events, want)
		}
	}
	w := newInPlace(t)
	w.settles()
	w.succeed()
	w.settles()
	w.view.Request = nil
	if w.settles(); w.status().Undo || !w.view.Cluster.IsRestoring() {
		t.Errorf("the members are being replaced, and it is cancelled: %+v", w.status())
	}
}

// TestUndoDeletesJobs: before a member has stopped that is all there is to do; after that the cluster brings them back.
func TestUndoDeletesJobs(t *testing.T) {
	w := newInPlace(t)
	w.settles()
	w.turnRound()
	if w.settles(); len(w.view.Jobs) > 0 || w.status().CompletedAt == nil || w.view.Cluster.IsRestoring() {
		t.Errorf("%d jobs, %+v", len(w.view.Jobs), w.status())
	}
	w = newInPlace(t)
	w.settles()
	w.succeed()
	w.settles()
	w.turnRound()
	if w.settles(); w.status().CompletedAt != nil || !w.view.Cluster.IsRestoring() {
		t.Errorf("%+v", w.status())
	}
	c := w.view.Cluster
	c.Status.Bootstrap = &v1beta1.Bootstrap{Token: "uid", Members: w.status().Members, Restore: "er-1/undo"}
	c.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue}}
	w.view.Now = w.view.Now.Add(time.Hour)
	if w.settles(); w.status().CompletedAt == nil || w.events[len(w.events)-1] != "Restored" {
		t.Errorf("%+v, %v", w.status(), w.events)
	}
}
