// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// start is when every world begins.
var start = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// A world is a Kubernetes with one EtcdBackup, and a store.
type world struct {
	v      backup.View // without its Job
	jobs   []job
	stored content
	lock   time.Duration // for how long the store keeps what is written
	gone   bool          // the EtcdBackup
	held   bool          // by a foreign finalizer
	luck   int           // how many disturbances are yet to come, at most
	events []string
}

// content is what the store has of the backup.
type content int

const (
	nothing content = iota
	torn
	whole
)

// A job is one that exists.
type job struct {
	name, uid, task string
	end             end
	words           string
	until           time.Time
	hangs           bool // it says words as its progress, and no more
}

// end is how a Job ended.
type end int

const (
	running   end = iota
	succeeds      // with a result
	fails         // and may succeed later
	refuses       // for good
	disproves     // shows that the backup is not good
	locked        // the store does not delete
	silent        // without a line
	stranger      // not ended, and foreign
	left          // a deletion that has found another backup
)

func newWorld() *world {
	return &world{v: backup.View{
		Name: "b", Namespace: "ns", UID: "11111111-2222", Upload: "11111111-2222", Created: start, Now: start,
		Spec:    v1beta1.EtcdBackupSpec{Cluster: "a", Store: "offsite", DeletionPolicy: v1beta1.RetainBackup},
		Store:   backup.Store{Name: "offsite", Exists: true, Ready: true},
		Cluster: backup.Cluster{Name: "a", Exists: true, UID: "c-uid", ID: "c1", Answering: 3},
	}}
}

// bySnapshot has a VolumeSnapshot taken instead.
func (w *world) bySnapshot() {
	w.v.Spec.Store, w.v.Store, w.v.Upload = "", backup.Store{}, ""
	w.v.Spec.VolumeSnapshot = &v1beta1.VolumeSnapshotBackup{}
	w.v.Source = backup.Source{Member: "a-1", Revision: 7, Version: "3.6.16", Database: 20 << 20, StorageClass: "fast", Size: "1Gi", At: start}
}

func (w *world) copy() *world {
	c := *w
	c.v.Status = *w.v.Status.DeepCopy()
	c.jobs, c.events = slices.Clone(w.jobs), nil
	return &c
}

// view is what the operator sees.
func (w *world) view() backup.View {
	v := w.v
	v.Status = *w.v.Status.DeepCopy()
	w.seeSnapshot(&v)
	if v.Status.Job == nil {
		return v
	}
	if i := w.find(v.Status.Job.Name); i >= 0 {
		v.Job = w.jobs[i].seen(v)
		if done := v.Job.Done(); w.lock > 0 && done != nil && done.Backup != nil {
			done.Locked = start.Add(w.lock)
		}
	}
	return v
}

func (w *world) isSnapshot() bool { return w.v.Spec.VolumeSnapshot != nil }

// seeSnapshot reads the VolumeSnapshot, which stands among the Jobs.
func (w *world) seeSnapshot(v *backup.View) {
	name := backup.SnapshotName(&v1beta1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1beta1.AnnotationUpload: v.Upload}}, Spec: v.Spec, Status: v.Status,
	})
	i := w.find(name)
	if !w.isSnapshot() {
		return
	}
	if i >= 0 && v.NoSnapshots == "" {
		j := w.jobs[i]
		v.Taken = j.seen(*v)
		if v.Taken.For = v.Name; j.end == stranger {
			v.Taken.For = ""
		}
		if j.end == running {
			v.Taken.Trouble = j.words
		}
		v.Reference = &v1beta1.VolumeSnapshotReference{Name: j.name, UID: j.uid, StorageClass: "fast", Size: resource.MustParse("1Gi")}
	}
	v.Gone = backup.WithoutSnapshot(*v)
}

func (w *world) find(name string) int {
	return slices.IndexFunc(w.jobs, func(j job) bool { return j.name == name })
}

// seen is the Job as it is read.
func (j job) seen(v backup.View) jobs.Observed {
	seen := jobs.Observed{Exists: true, Name: j.name, UID: j.uid, Owned: j.end != stranger}
	seen.Ended, seen.EndedAt = j.end != running && j.end != stranger, start
	said := func(line jobspec.Line) { seen.Lines = []jobspec.Line{line} }
	failed := func(reason jobspec.Reason, isFinal bool) {
		said(jobspec.Line{Failed: &jobspec.Failed{Reason: reason, Message: j.words, Final: isFinal, Until: j.until}})
	}
	switch j.end {
	case succeeds:
		said(jobspec.Line{Done: j.done(v)})
	case left:
		said(jobspec.Line{Done: &jobspec.Done{Left: j.words}})
	case fails:
		failed(jobspec.StoreFailed, false)
	case refuses:
		failed(jobspec.WrongVersion, true)
	case disproves:
		failed(jobspec.Different, false)
	case locked:
		failed(jobspec.StoreLocked, true)
	case silent:
		seen.Trouble = j.words
	case running:
		seen.Progress.Message = j.words
		if j.words != "" {
			seen.Progress.Read, seen.Progress.Total, seen.Progress.Rate = 5<<20, 20<<20, 2<<20
		}
	case stranger:
	}
	return seen
}

func (j job) done(v backup.View) *jobspec.Done {
	manifest := "m1"
	if v.Spec.VolumeSnapshot != nil {
		manifest = ""
	}
	switch j.task {
	case backup.Backup:
		return &jobspec.Done{Source: "a-1", Backup: &jobspec.Facts{
			ID: v.UID, Name: v.Name, Namespace: v.Namespace, Cluster: "a", ClusterUID: "c-uid", ClusterID: "c1", Revision: 7, Keys: ptr.To[int64](3),
			Database: 20 << 20, Stored: 4 << 20, EtcdVersion: "3.6.16", Encrypted: len(v.Recipients) > 0,
			StartedAt: start, FinishedAt: start.Add(time.Second), ManifestSHA256: manifest,
		}}
	case backup.Verify:
		return &jobspec.Done{Trial: &jobspec.Trial{
			Revision: 7, Keys: 3, Database: 20 << 20, Took: 1500 * time.Millisecond, ClusterVersion: "3.6.0",
			NoHash: v.Listed != nil && v.Listed.NoHash,
		}}
	default:
		return &jobspec.Done{}
	}
}

// obey takes the step, as the controller does: it acts, then it reports.
func (w *world) obey(step backup.Step) {
	seen, before := w.view(), w.v.Status
	switch s := step.(type) {
	case backup.CreateJob:
		if w.find(s.Name) < 0 {
			w.jobs = append(w.jobs, job{name: s.Name, uid: fmt.Sprintf("uid-%d", w.v.Status.Jobs), task: s.Task})
			if s.Task == backup.Backup && w.stored == nothing {
				w.stored = torn
			}
		}
	case backup.DeleteJob:
		w.jobs = slices.DeleteFunc(w.jobs, func(j job) bool { return j.uid == s.UID })
	case backup.CreateSnapshot:
		if w.find(s.Name) < 0 {
			w.jobs = append(w.jobs, job{name: s.Name, uid: fmt.Sprintf("uid-%d", w.v.Status.Jobs), task: backup.Backup})
		}
	case backup.DeleteSnapshot:
		w.jobs = slices.DeleteFunc(w.jobs, func(j job) bool { return j.uid == s.UID })
	case backup.AddFinalizer:
		w.v.HasFinalizer = true
	case backup.Mark:
		w.v.Upload = s.Upload
	case backup.RemoveFinalizer:
		w.v.HasFinalizer = false
		w.gone = w.v.Deleting && !w.held
	case backup.Record, backup.Wait, backup.Refuse, backup.Done:
	}
	w.v.Status = written(backup.Report(seen, 1, "", step, nil))
	for _, e := range backup.Events(before, w.v.Status, step, nil) {
		w.events = append(w.events, fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Note))
	}
}

// written is a status as it is read again.
func written(s v1beta1.EtcdBackupStatus) v1beta1.EtcdBackupStatus {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	var again v1beta1.EtcdBackupStatus
	if err := json.Unmarshal(text, &again); err != nil {
		panic(err)
	}
	return again
}

// finish ends the Job with that number.
func (w *world) finish(i int, how end) {
	j := &w.jobs[i]
	j.end = how
	switch {
	case w.isSnapshot():
	case how == succeeds && j.task == backup.Backup:
		w.stored = whole
	case how == succeeds && j.task == backup.Delete:
		w.stored = nothing
	case how == locked && j.until.IsZero():
		j.until = w.v.Now.Add(time.Hour)
	}
}

// pass lets time pass.
func (w *world) pass(d time.Duration) { w.v.Now = w.v.Now.Add(d) }

// listed is what the list of a store says of a backup that was found.
func listed(problem string) *jobspec.Found {
	return &jobspec.Found{Path: "v1/old/a/u", Problem: problem, Backup: jobspec.Facts{
		Cluster: "a", ClusterUID: "old", Revision: 9, Keys: ptr.To[int64](4), Database: 30 << 20, Stored: 5 << 20, EtcdVersion: "3.5.35",
		StartedAt: start.Add(-time.Hour + time.Millisecond), FinishedAt: start.Add(-time.Hour + time.Second), ManifestSHA256: "m0",
	}}
}

func at(t time.Time) *metav1.Time { return ptr.To(metav1.NewTime(t)) }
