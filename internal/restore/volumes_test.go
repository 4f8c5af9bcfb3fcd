// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// TestAClusterBeginsWithABackup: volumes first, then Jobs for all members at once, then a mark on each volume: the
// cluster adopts them then.
func TestAClusterBeginsWithABackup(t *testing.T) {
	w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
	w.settles()
	if len(w.view.Claims) != 3 || w.jobs != 3 || w.status().Revision != 100 || w.status().Version != "3.6.16" {
		t.Fatalf("%d volumes, %d jobs, %+v", len(w.view.Claims), w.jobs, w.status())
	}
	if begins := w.status().Revision + w.status().Bump; begins != start.UnixMicro() {
		t.Errorf("it begins at revision %d, want the time in microseconds", begins)
	}
	for _, claim := range w.view.Claims {
		if claim.Annotations[v1beta1.AnnotationUnused] != "" {
			t.Error("a volume that is about to have data says that it has none")
		}
		if owner := metav1.GetControllerOf(&claim); owner == nil || owner.UID != "uid" {
			t.Error("what a restore leaves when its EtcdCluster is deleted would be in the way of the next one")
		}
	}
	w.succeed()
	w.settles()
	if w.status().RestoredAt == nil || len(w.view.Jobs) > 0 {
		t.Fatalf("it is not restored, or jobs are left: %+v", w.status())
	}
	w.view.Cluster.Status.Bootstrap, w.view.Cluster.Status.ClusterID = &v1beta1.Bootstrap{}, "c1"
	if w.settles(); w.status().CompletedAt != nil {
		t.Error("it counts as served before anybody was")
	}
	w.view.Cluster.Status.Conditions = []metav1.Condition{{Type: v1beta1.ConditionAvailable, Status: metav1.ConditionTrue}}
	w.settles()
	if w.status().CompletedAt == nil {
		t.Error("the status does not say that the data is served")
	}
	if want := []string{"RestorePlanned", "VolumesRestored", "Restored"}; !slices.Equal(w.events, want) {
		t.Errorf("events %v, want %v", w.events, want)
	}
}

// TestCrashAtEachStep: wherever the operator dies, also when a step has made one of the things that it makes, what was done is not done
// again, and nothing is skipped: each step follows from what is there.
func TestCrashAtEachStep(t *testing.T) {
	middles := 0
	for crash := range 20 {
		w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
		for i := range 60 {
			step, _ := restore.NextOfVolumes(w.view)
			if i != crash {
				w.obey(step)
			} else if w.dies(step) {
				middles++
			}
			w.succeed()
		}
		if w.status().RestoredAt == nil || w.jobs != 3 || !slices.Equal(w.events, []string{"RestorePlanned", "VolumesRestored"}) {
			t.Errorf("a crash at step %d: %d jobs, events %v, %+v", crash, w.jobs, w.events, w.status())
		}
	}
	if middles < 2 {
		t.Errorf("the operator died in the middle of %d steps, and volumes and jobs are made by one step each", middles)
	}
}

// TestAJobThatFailsForGood needs a person, and is tried again less often the longer the try took.
func TestAJobThatFailsForGood(t *testing.T) {
	for took, pause := range map[time.Duration]time.Duration{
		time.Second: 2 * time.Minute, time.Minute: 10 * time.Minute, time.Hour: time.Hour,
	} {
		w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
		w.settles()
		w.view.Now = start.Add(took)
		w.end("a-0", failed("connection refused", false))
		w.end("a-1", failed("part 3 is corrupt", true))
		w.settles()
		if f := w.status().Failure; f == nil || f.Message != "part 3 is corrupt" || !f.Final {
			t.Errorf("what a person must know is %+v", f)
		}
		w.view.Now = start.Add(took + pause - time.Second)
		w.settles()
		before := w.jobs
		w.view.Now = start.Add(took + pause)
		w.settles()
		if w.jobs != before+1 {
			t.Errorf("a try of %s is not made again after %s", took, pause)
		}
		w.progress("a-1", 1, 100)
		if w.settles(); w.status().Failure == nil {
			t.Error("it is forgotten before the next try has shown that it is over")
		}
		w.end("a-1", jobspec.Line{Done: &jobspec.Done{}})
		if w.settles(); w.status().Failure != nil && w.status().Failure.Member == "a-1" {
			t.Error("it is reported although the volume has the data")
		}
	}
}

// TestAJobThatSaysNothing is run again: what it has done, the next one finds done.
func TestAJobThatSaysNothing(t *testing.T) {
	w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
	w.settles()
	w.succeed()
	w.end("a-0", jobspec.Line{})
	job := w.view.Jobs["a-1"]
	job.Lines, job.Unread = nil, "the node does not answer"
	w.view.Jobs["a-1"] = job
	step, _ := w.settles().(restore.VolumesWait)
	if again := start.Add(5 * time.Second); !step.Until.Equal(again) {
		t.Errorf("its log is read again at %s, not %s", step.Until, again)
	}
	w.view.Now = start.Add(3 * time.Minute)
	w.settles()
	if w.jobs != 5 || w.status().RestoredAt != nil {
		t.Errorf("%d jobs, %+v", w.jobs, w.status())
	}
}

// TestVolumesOfAnEarlierCluster: what may hold data is never written to.
func TestVolumesOfAnEarlierCluster(t *testing.T) {
	for name, change := range map[string]func(*corev1.PersistentVolumeClaim){
		"a-7": func(c *corev1.PersistentVolumeClaim) { c.Annotations = nil },
		"a-0": func(c *corev1.PersistentVolumeClaim) { c.Annotations[v1beta1.AnnotationToken] = "another" },
		"a-1": func(c *corev1.PersistentVolumeClaim) { c.Annotations[v1beta1.AnnotationClusterID] = "c0" },
		"a-2": func(c *corev1.PersistentVolumeClaim) { c.Labels[v1beta1.LabelQuarantined] = "true" },
		"a-3": func(*corev1.PersistentVolumeClaim) {},
	} {
		w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
		w.view.Cluster.Status.Restore = &v1beta1.RestoreStatus{Path: "p", Members: []string{"a-0", "a-1", "a-2"}}
		claim := restore.NewVolume(w.view.Cluster, name)
		claim.OwnerReferences = nil
		change(claim)
		w.view.Claims[name] = *claim
		step := w.settles()
		if !strings.Contains(w.status().Problem, "("+name+"), and nothing is restored over them") || w.jobs > 0 || len(w.view.Claims) != 1 {
			t.Errorf("%s: it says %q, with %d jobs and %d volumes", name, step, w.jobs, len(w.view.Claims))
		}
	}
}

// TestVolumesThatGo are waited for: no person has to do anything.
func TestVolumesThatGo(t *testing.T) {
	earlier := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "earlier"}}
	for what, change := range map[string]func(*corev1.PersistentVolumeClaim){
		"deleted": func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{Time: start} },
		"of an EtcdCluster that is gone": func(c *corev1.PersistentVolumeClaim) {
			c.OwnerReferences = []metav1.OwnerReference{specs.Owner(earlier)}
		},
	} {
		w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a-0"}}
		change(&claim)
		w.view.Claims["a-0"] = claim
		if w.settles(); w.status().Problem != "" || !strings.Contains(w.status().Progress, "volume a-0 of an earlier cluster") || w.jobs > 0 {
			t.Errorf("%s: %+v", what, w.status())
		}
	}
	w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
	w.settles()
	ours := w.view.Claims["a-1"]
	ours.DeletionTimestamp = &metav1.Time{Time: start}
	w.view.Claims["a-1"] = ours
	w.succeed()
	if w.settles(); !strings.Contains(w.status().Progress, "volume a-1, which was deleted, to be gone") || w.status().RestoredAt != nil {
		t.Errorf("of this restore: %+v", w.status())
	}
}

// TestAVolumeThatIsLost before the cluster has begun gets the data again, by another Job: what the one before has said is about
// another volume.
func TestAVolumeThatIsLost(t *testing.T) {
	for what, when := range map[string]func(w *volumesWorld){
		"before its job ends": func(*volumesWorld) {},
		"after it":            func(w *volumesWorld) { w.succeed() },
		"when all are filled": func(w *volumesWorld) { w.succeed(); w.settles() },
	} {
		w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
		w.settles()
		when(w)
		w.loseVolume("a-1")
		w.settles()
		if w.status().RestoredAt != nil || len(w.view.Claims) != 3 {
			t.Errorf("%s: %d volumes, %+v", what, len(w.view.Claims), w.status())
		}
		w.succeed()
		w.settles()
		if w.status().RestoredAt == nil || w.jobs != 4 {
			t.Errorf("%s: %d jobs, %+v", what, w.jobs, w.status())
		}
	}
}

// TestAVolumeThatIsReplaced by another one of its name between two looks: what its Job has said is not about that one.
func TestAVolumeThatIsReplaced(t *testing.T) {
	w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
	w.settles()
	w.succeed()
	other := restore.NewVolume(w.view.Cluster, "a-1")
	other.UID = w.uid("volume")
	w.view.Claims["a-1"] = *other
	if w.settles(); w.status().RestoredAt != nil || w.jobs != 4 {
		t.Errorf("%d jobs, %+v", w.jobs, w.status())
	}
}

// TestVersions: members start with the minor version that wrote the data; the wanted version follows as in any upgrade.
func TestVersions(t *testing.T) {
	for wanted, starts := range map[string][2]string{"3.7.3": {"3.6.16", ""}, "3.6.12": {"3.6.12", "mirror.example/etcd"}} {
		w := newVolumesWorld(t, v1beta1.Restore{Backup: "first"})
		w.view.Cluster.Spec.Version, w.view.Cluster.Spec.Image = wanted, "mirror.example/etcd"
		w.settles()
		for _, claim := range w.view.Claims {
			says := [2]string{claim.Annotations[v1beta1.AnnotationVersion], claim.Annotations[v1beta1.AnnotationChosenImage]}
			if w.status().Version != starts[0] || says != starts {
				t.Errorf("members start with %s, and the volume says %v, want %v", w.status().Version, says, starts)
			}
		}
	}
}
