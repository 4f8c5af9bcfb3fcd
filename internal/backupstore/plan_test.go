package backupstore_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/backupstore"
	"github.com/etcd-operator/etcd-operator/internal/task"
)

var start = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// world is a store, and what is done to its objects.
type world struct {
	*testing.T
	view backupstore.View
	jobs int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{T: t, view: backupstore.View{Now: start, Store: v1alpha1.EtcdBackupStore{
		ObjectMeta: metav1.ObjectMeta{Name: "offsite", Namespace: "default", UID: "store", Generation: 1},
		Spec:       v1alpha1.EtcdBackupStoreSpec{Volume: &v1alpha1.VolumeStore{Claim: "backups"}},
	}}}
}

func (w *world) obey(step backupstore.Step) {
	w.Helper()
	switch s := step.(type) {
	case backupstore.CreateJob:
		if w.view.Job.Exists {
			w.Fatal("a second job")
		}
		w.jobs++
		w.view.Job = backupstore.Job{Exists: true, UID: "job" + strings.Repeat("'", w.jobs)}
	case backupstore.DeleteJob:
		w.view.Job = backupstore.Job{}
	case backupstore.Record:
		for _, b := range s.Create {
			b.UID = types.UID(b.Name)
			w.view.Backups = append(w.view.Backups, b)
		}
		for _, gone := range s.Delete {
			for i, b := range w.view.Backups {
				if b.Name == gone.Name {
					w.view.Backups = append(w.view.Backups[:i:i], w.view.Backups[i+1:]...)
				}
			}
		}
		w.view.Store.Status = s.Status
	case backupstore.Wait:
		w.view.Store.Status = s.Status
	}
}

// settles obeys until the plan waits.
func (w *world) settles() backupstore.Wait {
	w.Helper()
	for range 20 {
		step := backupstore.Next(w.view)
		w.obey(step)
		if wait, waits := step.(backupstore.Wait); waits {
			return wait
		}
	}
	w.Fatal("it never settles")
	return backupstore.Wait{}
}

// answers has the store looked at, with that answer.
func (w *world) answers(lines ...task.Line) backupstore.Wait {
	w.Helper()
	w.settles()
	if !w.view.Job.Exists {
		w.Fatal("nobody looks at the store")
	}
	w.view.Job.Ended, w.view.Job.Lines = true, lines
	return w.settles()
}

func (w *world) ready() metav1.Condition {
	return *meta.FindStatusCondition(w.view.Store.Status.Conditions, v1alpha1.ConditionReady)
}

func found(name string) task.Line {
	return task.Line{Found: &task.Found{Path: "v1/old/a/" + name, Backup: task.Facts{
		ID: name, Name: name, Namespace: "old", Cluster: "a", Revision: 7, Stored: 1000, StartedAt: start.Add(-time.Hour),
	}}}
}

var done = task.Line{Done: &task.Done{Check: &task.Checked{Skew: time.Second}}}

// What lies in a store becomes EtcdBackups, once; what no longer lies there goes, and nobody else's.
func TestWhatLiesInAStore(t *testing.T) {
	w := newWorld(t)
	ours := v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: "default", UID: "mine"}}
	ours.Spec = v1alpha1.EtcdBackupSpec{Cluster: "a", Store: "offsite"}
	elsewhere := v1alpha1.EtcdBackup{ObjectMeta: metav1.ObjectMeta{Name: "first", Namespace: "default"}}
	elsewhere.Spec = v1alpha1.EtcdBackupSpec{Store: "other", Found: "v1/x/y/z"}
	w.view.Backups = []v1alpha1.EtcdBackup{ours, elsewhere}
	mine := task.Line{Found: &task.Found{Path: "v1/default/a/mine", Backup: task.Facts{Name: "mine"}}}

	wait := w.answers(found("first"), found("second"), mine, done)
	if len(w.view.Backups) != 4 || w.view.Store.Status.Backups != 3 || w.ready().Status != metav1.ConditionTrue {
		t.Fatalf("%d objects, %+v", len(w.view.Backups), w.view.Store.Status)
	}
	if !wait.Until.Equal(start.Add(5*time.Minute)) || w.view.Store.Status.ClockSkew.Duration != time.Second {
		t.Errorf("it waits until %s, %+v", wait.Until, w.view.Store.Status)
	}
	for _, b := range w.view.Backups[2:] {
		if b.Spec.Found == "" || b.Name == "first" || len(b.Name) > 63 {
			t.Errorf("%s stands for %q", b.Name, b.Spec.Found)
		}
	}
	w.view.Now = start.Add(5 * time.Minute)
	w.answers(found("second"), done)
	if len(w.view.Backups) != 3 || w.jobs != 2 {
		t.Errorf("%d objects after %d jobs", len(w.view.Backups), w.jobs)
	}
	for _, b := range w.view.Backups {
		if b.Spec.Found == "v1/old/a/first" {
			t.Error("what is gone is still shown")
		}
	}
}

// A store that fails says why in its own words, and is asked again soon, and then less often.
func TestAStoreThatFails(t *testing.T) {
	w := newWorld(t)
	failed := task.Line{Failed: &task.Failed{Reason: task.StoreFailed, Kind: "wrong region", Message: "the bucket is in eu-1"}}
	for i, pause := range []time.Duration{10, 20, 30, 60, 120, 300, 300} {
		wait := w.answers(failed)
		if got := wait.Until.Sub(w.view.Now); got != pause*time.Second {
			t.Errorf("after failure %d it waits for %s", i+1, got)
		}
		if c := w.ready(); c.Status != metav1.ConditionFalse || c.Reason != "WrongRegion" || c.Message != "the bucket is in eu-1" {
			t.Errorf("it says %+v", c)
		}
		w.view.Now = wait.Until
	}
	w.answers(done)
	if w.ready().Status != metav1.ConditionTrue || w.view.Store.Status.Failures != 0 {
		t.Errorf("it is well, and says %+v", w.view.Store.Status)
	}
}

// What people change is looked at once, without a wait.
func TestAskedFor(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.EtcdBackupStore){
		"spec":       func(s *v1alpha1.EtcdBackupStore) { s.Generation++ },
		"annotation": func(s *v1alpha1.EtcdBackupStore) { s.Annotations = map[string]string{v1alpha1.AnnotationCheck: "now"} },
	} {
		w := newWorld(t)
		w.answers(done)
		change(&w.view.Store)
		if step, creates := backupstore.Next(w.view).(backupstore.CreateJob); !creates || !step.Order.Write {
			t.Errorf("%s: %s", name, step)
		}
		w.answers(done)
		if w.jobs != 2 {
			t.Errorf("%s: %d jobs", name, w.jobs)
		}
	}
}

// Writing is tried once an hour, because stores may keep what is written.
func TestTries(t *testing.T) {
	w := newWorld(t)
	w.answers(done)
	tried := 0
	for w.view.Now.Before(start.Add(3 * time.Hour)) {
		w.view.Now = w.view.Now.Add(5 * time.Minute)
		if step, creates := backupstore.Next(w.view).(backupstore.CreateJob); creates && step.Order.Write {
			tried++
		}
		w.answers(done)
	}
	if tried != 3 {
		t.Errorf("writing was tried %d times in three hours", tried)
	}
}

// An answer is recorded before the Job goes, and once.
func TestCrashes(t *testing.T) {
	w := newWorld(t)
	w.settles()
	w.view.Job.Ended, w.view.Job.Lines = true, []task.Line{found("first"), done}
	step, records := backupstore.Next(w.view).(backupstore.Record)
	if !records {
		t.Fatalf("%s", step)
	}
	made := step
	made.Status = w.view.Store.Status // it died before the status was written
	w.obey(made)
	again, _ := backupstore.Next(w.view).(backupstore.Record)
	if len(again.Create) > 0 {
		t.Error("a second object is made of what was found")
	}
	w.obey(again)
	if _, deletes := backupstore.Next(w.view).(backupstore.DeleteJob); !deletes {
		t.Error("the job stays")
	}
}

// Jobs that do not run say why; a store that was ready is not until then.
func TestTrouble(t *testing.T) {
	w := newWorld(t)
	w.settles()
	w.view.Job.Trouble = "0/3 nodes are available"
	w.settles()
	if c := w.ready(); c.Reason != v1alpha1.ReasonCheckBlocked || !strings.Contains(c.Message, "0/3 nodes") {
		t.Errorf("it says %+v", c)
	}
	w.view.Job.Ended = true
	w.settles()
	if c := w.ready(); c.Reason != v1alpha1.ReasonCheckFailed {
		t.Errorf("it says %+v", c)
	}
	w = newWorld(t)
	w.view.NoImage = "start it with --task-image"
	w.settles()
	if c := w.ready(); c.Reason != v1alpha1.ReasonNoImage || w.jobs > 0 {
		t.Errorf("it says %+v", c)
	}
}

// Names are those of Kubernetes, whatever lies in a store.
func TestNamesOfWhatIsFound(t *testing.T) {
	w := newWorld(t)
	odd := func(path string) task.Line { return task.Line{Found: &task.Found{Path: path, Program: "etcdctl"}} }
	w.answers(odd("Backups/Ünlaut & Co.db"), odd("other/Ünlaut & Co.db"), odd(strings.Repeat("x", 300)), found(strings.Repeat("y", 80)), done)
	names := map[string]bool{}
	for _, b := range w.view.Backups {
		strange := strings.Trim(b.Name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasSuffix(b.Name, "-")
		if names[b.Name] || len(b.Name) > 63 || strange {
			t.Errorf("an object is called %q", b.Name)
		}
		names[b.Name] = true
	}
	if len(names) != 4 {
		t.Errorf("%d objects", len(names))
	}
}
