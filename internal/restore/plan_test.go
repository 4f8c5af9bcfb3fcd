package restore_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/restore"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

var start = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// world is a cluster that begins with a backup, and what is done to it.
type world struct {
	*testing.T
	view restore.View
	jobs int
}

func newWorld(t *testing.T, want v1alpha1.Restore) *world {
	t.Helper()
	return &world{T: t, view: restore.View{
		Now: start, ClusterID: "c1", Claims: map[string]corev1.PersistentVolumeClaim{}, Jobs: map[string]restore.Job{},
		Store: &v1alpha1.EtcdBackupStore{}, Backups: []v1alpha1.EtcdBackup{newBackup("first", 100, start.Add(-time.Hour))},
		Cluster: &v1alpha1.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "uid"},
			Spec: v1alpha1.EtcdClusterSpec{
				Size: ptr.To[int32](3), Version: "3.6.16", Bootstrap: &v1alpha1.BootstrapSpec{Restore: &want},
			},
		},
	}}
}

func newBackup(name string, revision int64, began time.Time) v1alpha1.EtcdBackup {
	return v1alpha1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Status: v1alpha1.EtcdBackupStatus{
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue}},
			Store:      "offsite", Path: "v1/default/a/" + name, Revision: revision, StartedAt: &metav1.Time{Time: began},
			EtcdVersion: "3.6.10", DatabaseSize: resource.NewQuantity(1<<20, resource.BinarySI), ManifestSHA256: "sum-" + name,
		},
	}
}

// obey does the step, as Kubernetes and the controller would.
func (w *world) obey(step restore.Step) {
	w.Helper()
	c := w.view.Cluster
	switch s := step.(type) {
	case restore.Record:
		c.Status.Restore = &s.Status
	case restore.CreateVolumes:
		for _, m := range s.Members {
			w.view.Claims[m] = *restore.Volume(c, m)
		}
	case restore.CreateJobs:
		for _, m := range s.Members {
			if w.view.Jobs[m].Object != nil {
				w.Fatalf("a second job of %s", m)
			}
			if w.view.Claims[m].Annotations[v1alpha1.AnnotationClusterID] != "" {
				w.Fatalf("the volume of %s has the data, and is filled again", m)
			}
			w.jobs++
			w.view.Jobs[m] = restore.Job{Object: &batchv1.Job{ObjectMeta: metav1.ObjectMeta{UID: "job"}}}
		}
	case restore.MarkVolume:
		if end := w.view.Jobs[s.Member].End; end.Done == nil {
			w.Fatalf("the volume of %s is marked, and its job said %+v", s.Member, end)
		}
		w.view.Claims[s.Member].Annotations[v1alpha1.AnnotationClusterID] = s.ClusterID
	case restore.DeleteJob:
		delete(w.view.Jobs, s.Member)
	case restore.Wait:
		c.Status.Restore = &s.Status
	case restore.Done:
	}
}

// settles obeys until the plan waits or is done.
func (w *world) settles() restore.Step {
	w.Helper()
	for range 100 {
		step := restore.Next(w.view)
		w.obey(step)
		switch step.(type) {
		case restore.Wait, restore.Done:
			return step
		}
	}
	w.Fatal("it never settles")
	return nil
}

func (w *world) end(member string, end task.Line) {
	job := w.view.Jobs[member]
	job.Ended, job.EndedAt, job.End = true, w.view.Now, end
	w.view.Jobs[member] = job
}

func (w *world) status() v1alpha1.RestoreStatus { return *w.view.Cluster.Status.Restore }

// Volumes first, then Jobs for all members at once, then a mark on each volume: the cluster adopts them then.
func TestAClusterBeginsWithABackup(t *testing.T) {
	w := newWorld(t, v1alpha1.Restore{Backup: "first"})
	w.settles()
	if len(w.view.Claims) != 3 || w.jobs != 3 || w.status().Revision != 100 || w.status().Version != "3.6.16" {
		t.Fatalf("%d volumes, %d jobs, %+v", len(w.view.Claims), w.jobs, w.status())
	}
	for _, claim := range w.view.Claims {
		if claim.Annotations[v1alpha1.AnnotationUnused] != "" {
			t.Error("a volume that is about to have data says that it has none")
		}
	}
	for _, m := range w.status().Members {
		w.end(m, task.Line{Done: &task.Done{}})
	}
	w.settles()
	if w.status().RestoredAt == nil || len(w.view.Jobs) > 0 {
		t.Fatalf("it is not restored, or jobs are left: %+v", w.status())
	}
	w.view.Cluster.Status.ClusterID = "c1"
	w.view.Cluster.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAvailable, Status: metav1.ConditionTrue}}
	w.settles()
	if w.status().CompletedAt == nil {
		t.Error("nobody is told that the data is served")
	}
}

// However often the operator dies, what was done is not done again, and nothing is skipped: each step follows from what is there.
func TestCrashAtEachStep(t *testing.T) {
	for crash := range 20 {
		w := newWorld(t, v1alpha1.Restore{Backup: "first"})
		for i := range 60 {
			step := restore.Next(w.view)
			if i == crash {
				continue // it died before the write
			}
			w.obey(step)
			if i == crash+1 {
				w.obey(restore.Next(w.view))
			}
			for _, m := range w.status().Members {
				if job := w.view.Jobs[m]; job.Object != nil && !job.Ended {
					w.end(m, task.Line{Done: &task.Done{}})
				}
			}
		}
		if w.status().RestoredAt == nil || w.jobs != 3 {
			t.Errorf("a crash at step %d: %d jobs, %+v", crash, w.jobs, w.status())
		}
	}
}

// A Job that failed is tried again after a pause, and its reason is told meanwhile.
func TestAJobThatFails(t *testing.T) {
	w := newWorld(t, v1alpha1.Restore{Backup: "first"})
	w.settles()
	w.end("a-1", task.Line{Failed: &task.Failed{Reason: task.Corrupt, Message: "part 3 is corrupt", Final: true}})
	if step := w.settles(); !strings.Contains(step.String(), "a-1") || !strings.Contains(step.String(), "part 3 is corrupt") {
		t.Errorf("it says %q", step)
	}
	w.view.Now = start.Add(time.Hour)
	w.settles()
	if w.jobs != 4 {
		t.Errorf("%d jobs, and one was to be tried again", w.jobs)
	}
}

// What may hold data is never written to.
func TestVolumesOfAnEarlierCluster(t *testing.T) {
	w := newWorld(t, v1alpha1.Restore{Backup: "first"})
	w.view.Claims["a-7"] = corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a-7"}}
	if step := w.settles(); !strings.Contains(step.String(), "a-7") || w.jobs > 0 || len(w.view.Claims) != 1 {
		t.Errorf("it says %q, with %d jobs and %d volumes", step, w.jobs, len(w.view.Claims))
	}
}

// Which backup is meant, and what is said of one that cannot be restored.
func TestChoose(t *testing.T) {
	backups := []v1alpha1.EtcdBackup{
		newBackup("old", 10, start.Add(-3*time.Hour)), newBackup("new", 30, start.Add(-time.Hour)),
		newBackup("middle", 20, start.Add(-2*time.Hour)),
		newBackup("torn", 40, start), newBackup("large", 50, start.Add(-9*time.Hour)), newBackup("newer", 5, start.Add(-8*time.Hour)),
		newBackup("secret", 6, start.Add(-8*time.Hour)), newBackup("different", 7, start.Add(-8*time.Hour)),
	}
	backups[3].Status.Conditions = nil
	backups[4].Status.DatabaseSize = resource.NewQuantity(8<<30, resource.BinarySI)
	backups[5].Status.EtcdVersion = "3.7.3"
	backups[6].Status.Encrypted = true
	failed := metav1.Condition{Type: v1alpha1.ConditionVerified, Status: metav1.ConditionFalse, Message: "another hash"}
	backups[7].Status.Conditions = append(backups[7].Status.Conditions, failed)
	for _, c := range []struct {
		want  v1alpha1.Restore
		gives string // a name, or words of the problem
	}{
		{v1alpha1.Restore{Backup: "middle"}, "middle"},
		{v1alpha1.Restore{Backup: "none"}, "there is no EtcdBackup none"},
		{v1alpha1.Restore{Backup: "torn"}, "torn is not complete"},
		{v1alpha1.Restore{Backup: "large"}, "larger storage.size"},
		{v1alpha1.Restore{Backup: "newer"}, "spec.version 3.7"},
		{v1alpha1.Restore{Backup: "secret"}, "bootstrap.restore.decryption"},
		{v1alpha1.Restore{Backup: "secret", Decryption: &v1alpha1.SecretReference{Secret: "age"}}, "secret"},
		{v1alpha1.Restore{Backup: "different"}, "another hash"},
		{v1alpha1.Restore{Store: "offsite"}, "new"},
		{v1alpha1.Restore{Store: "offsite", At: "latest"}, "new"},
		{v1alpha1.Restore{Store: "offsite", At: "29"}, "middle"},
		{v1alpha1.Restore{Store: "offsite", At: "2026-11-24T07:30:00Z"}, "old"},
		{v1alpha1.Restore{Store: "offsite", Cluster: "default/a"}, "new"},
		{v1alpha1.Restore{Store: "offsite", Cluster: "other/a"}, "no backup of cluster other/a"},
		{v1alpha1.Restore{Store: "elsewhere"}, "store elsewhere has no backup"},
	} {
		w := newWorld(t, c.want)
		chosen, problem := restore.Choose(w.view.Cluster, backups)
		if chosen != nil && problem == "" {
			problem = chosen.Name
		}
		if !strings.Contains(problem, c.gives) {
			t.Errorf("%+v gives %q, and not %q", c.want, problem, c.gives)
		}
	}
}

// Members start with what wrote the data; the wanted version follows as in any upgrade.
func TestVersions(t *testing.T) {
	w := newWorld(t, v1alpha1.Restore{Backup: "first"})
	w.view.Cluster.Spec.Version = "3.7.3"
	w.settles()
	if got := w.status().Version; got != "3.6.10" {
		t.Errorf("members start with %s", got)
	}
	for _, claim := range w.view.Claims {
		if claim.Annotations[v1alpha1.AnnotationVersion] != "3.6.10" {
			t.Error("the volume does not say so")
		}
	}
}

// Nothing is restored into a cluster that began without, is paused, sleeps or is being deleted.
func TestLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.EtcdCluster){
		"formed":  func(c *v1alpha1.EtcdCluster) { c.Status.ClusterID = "c0" },
		"planned": func(c *v1alpha1.EtcdCluster) { c.Status.Bootstrap = &v1alpha1.Bootstrap{} },
		"paused":  func(c *v1alpha1.EtcdCluster) { c.Spec.Paused = true },
		"asleep":  func(c *v1alpha1.EtcdCluster) { c.Spec.Size = ptr.To[int32](0) },
		"deleted": func(c *v1alpha1.EtcdCluster) { c.DeletionTimestamp = &metav1.Time{Time: start} },
		"other":   func(c *v1alpha1.EtcdCluster) { c.Spec.Bootstrap = nil },
	} {
		w := newWorld(t, v1alpha1.Restore{Backup: "first"})
		change(w.view.Cluster)
		if step := w.settles(); len(w.view.Claims)+w.jobs > 0 {
			t.Errorf("%s: volumes or jobs were made: %s", name, step)
		}
	}
}
