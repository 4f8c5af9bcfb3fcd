// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stores_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/stores"
)

// start is when every world begins.
var start = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// A world is a namespace with one EtcdBackupStore, and what lies in the store.
type world struct {
	v       stores.View // without versions and keys of sources
	content []jobspec.Found
	secret  secret
	jobs    int      // that were created
	events  []string // changes of the condition

	answer   func([]jobspec.Line) []jobspec.Line // what becomes of the lines of the next Job
	trouble  string                              // how the next Job ends that says nothing
	complain func(string, ...any)
}

// secret is the only source there is.
type secret struct {
	known, exists bool
	keys          []string
	version       string
}

func newWorld(complain func(string, ...any)) *world {
	return &world{
		complain: complain,
		secret:   secret{known: true, exists: true, keys: []string{"accessKeyID", "secretAccessKey"}, version: "1"},
		v: stores.View{Now: start, Store: v1beta1.EtcdBackupStore{
			ObjectMeta: metav1.ObjectMeta{Name: "offsite", Namespace: "ns", UID: "s-uid", Generation: 1},
			Spec: v1beta1.EtcdBackupStoreSpec{S3: &v1beta1.S3Store{
				Bucket: "backups", Credentials: &v1beta1.SecretReference{Secret: "keys"},
			}},
		}},
	}
}

// view is what the operator sees.
func (w *world) view() stores.View {
	v := w.v
	v.Store = *w.v.Store.DeepCopy()
	v.Backups = slices.Clone(w.v.Backups)
	v.Sources = stores.SourcesOf(v.Store.Spec)
	for i := range v.Sources {
		s := &v.Sources[i]
		s.Known, s.Exists, s.Keys, s.Version = w.secret.known, w.secret.exists, w.secret.keys, w.secret.version
	}
	return v
}

// obey takes a step, as the controller does.
func (w *world) obey(step stores.Step) {
	switch s := step.(type) {
	case stores.CreateJob:
		if w.v.Job.Exists {
			w.complain("a second job is created")
		}
		w.jobs++
		w.v.Job = jobs.Observed{
			Exists: true, Owned: true, UID: fmt.Sprintf("job-%d", w.jobs), Created: w.v.Now, For: s.Asked.Encode(),
		}
	case stores.DeleteJob:
		if s.UID != w.v.Job.UID {
			w.complain("another job is deleted than there is")
		}
		w.v.Job = jobs.Observed{}
	case stores.Record:
		w.apply(s)
		w.write(s.Status)
	case stores.Wait:
		w.write(s.Status)
	}
}

// apply makes the EtcdBackups what the step says.
func (w *world) apply(s stores.Record) {
	for _, b := range s.Create {
		if w.find(b.Name) >= 0 {
			w.complain("EtcdBackup %s exists already", b.Name)
		}
		b.UID = types.UID("uid of " + b.Name)
		w.v.Backups = append(w.v.Backups, b)
	}
	for _, b := range s.Update {
		w.touch(b)
		w.v.Backups[w.find(b.Name)] = b
	}
	for _, b := range s.Delete {
		w.touch(b)
		if b.Labels["app.kubernetes.io/managed-by"] != "etcd-operator" {
			w.complain("EtcdBackup %s of a person is deleted", b.Name)
		}
		w.remove(b.Name)
	}
}

func (w *world) touch(b v1beta1.EtcdBackup) {
	if was := w.v.Backups[w.find(b.Name)].DeepCopy(); b.Spec.Found == "" && b.Status.Store == "offsite" {
		was.Annotations, b.Annotations = nil, nil
		if !equality.Semantic.DeepEqual(*was, b) {
			w.complain("of EtcdBackup %s more is changed than what the store says of it", b.Name)
		}
		return
	}
	if b.Spec.Found == "" || b.Spec.Store != "offsite" {
		w.complain("EtcdBackup %s, which was not found in this store, is changed or deleted", b.Name)
	}
}

func (w *world) find(name string) int {
	return slices.IndexFunc(w.v.Backups, func(b v1beta1.EtcdBackup) bool { return b.Name == name })
}

func (w *world) remove(name string) {
	w.v.Backups = slices.DeleteFunc(slices.Clone(w.v.Backups), func(b v1beta1.EtcdBackup) bool { return b.Name == name })
}

// write keeps a status as the API server does.
func (w *world) write(s v1beta1.EtcdBackupStoreStatus) {
	before := w.ready()
	text, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	w.v.Store.Status = v1beta1.EtcdBackupStoreStatus{}
	if err := json.Unmarshal(text, &w.v.Store.Status); err != nil {
		panic(err)
	}
	if after := w.ready(); after.Reason != before.Reason || after.Status != before.Status {
		w.events = append(w.events, fmt.Sprintf("Ready=%s %s: %s", after.Status, after.Reason, after.Message))
	}
}

func (w *world) ready() metav1.Condition {
	if c := meta.FindStatusCondition(w.v.Store.Status.Conditions, v1beta1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// endJob has the Job say what lies in the store.
func (w *world) endJob() {
	var lines []jobspec.Line
	checked := jobspec.Checked{Backups: len(w.content)}
	for _, f := range w.content {
		checked.Stored += f.Backup.Stored
		lines = append(lines, jobspec.Line{Found: &f})
	}
	lines = append(lines, jobspec.Line{Done: &jobspec.Done{Check: &checked}})
	if w.answer != nil {
		lines = w.answer(lines)
	}
	w.v.Job.Ended, w.v.Job.Lines, w.v.Job.Trouble = true, lines, w.trouble
	w.answer, w.trouble = nil, ""
}

// lies puts a backup into the store.
func (w *world) lies(path, name, reason, problem string, at time.Time) {
	w.content = append(w.content, jobspec.Found{Path: path, Problem: problem, Backup: jobspec.Facts{
		Name: name, Namespace: "old", Cluster: "a", Reason: reason, Revision: 7, Stored: 1 << 20, StartedAt: at,
	}})
}

// own is an EtcdBackup that a person made, which is written to this store.
func own(name, store string) v1beta1.EtcdBackup {
	return v1beta1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name)},
		Spec:       v1beta1.EtcdBackupSpec{Cluster: "a", Store: store},
		Status:     v1beta1.EtcdBackupStatus{Store: store, Job: &v1beta1.JobReference{Name: name, Task: "Backup"}},
	}
}

// pathOf is where such a backup is written.
func pathOf(name string) string { return "v1/ns/a/" + name }

// complete ends the Job of an own backup.
func (w *world) complete(name string) {
	b := &w.v.Backups[w.find(name)]
	b.Status.Job, b.Status.Path, b.Status.ManifestSHA256 = nil, pathOf(name), "sum"
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
		Type: v1beta1.ConditionComplete, Status: metav1.ConditionTrue, Reason: "Written", LastTransitionTime: metav1.NewTime(w.v.Now),
	})
	w.lies(pathOf(name), name, "", "", w.v.Now)
}

// fail ends the Job of an own backup, which another one follows after a pause.
func (w *world) fail(name string) {
	b := &w.v.Backups[w.find(name)]
	b.Status.Job, b.Status.Attempts, b.Status.RetryAt = nil, b.Status.Attempts+1, ptr.To(metav1.NewTime(w.v.Now.Add(time.Minute)))
	b.Status.Failure = &v1beta1.BackupFailure{Task: "Backup", Reason: "StoreFailed"}
}

// gone takes a path out of the store.
func (w *world) gone(path string) {
	w.content = slices.DeleteFunc(w.content, func(f jobspec.Found) bool { return f.Path == path })
}
