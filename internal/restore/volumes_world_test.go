// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

var start = time.Date(2026, 11, 24, 10, 0, 0, 0, time.UTC)

// A volumesWorld is a cluster that begins with a backup, and what is done to it. It fails its test where a step does what none may.
type volumesWorld struct {
	*testing.T
	view   restore.VolumesView
	jobs   int             // ever made
	uids   int             // ever given
	data   map[string]bool // volumes that truly have the data, by UID
	events []string
}

func newVolumesWorld(t *testing.T, want v1beta1.Restore) *volumesWorld {
	t.Helper()
	return &volumesWorld{T: t, data: map[string]bool{}, view: restore.VolumesView{
		Now: start, ClusterID: "c1", Claims: map[string]corev1.PersistentVolumeClaim{}, Jobs: map[string]jobs.Observed{},
		Store: &v1beta1.EtcdBackupStore{}, Backups: []v1beta1.EtcdBackup{newBackup("first", 100, start.Add(-time.Hour))},
		Cluster: &v1beta1.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", UID: "uid"},
			Spec: v1beta1.EtcdClusterSpec{
				Size: ptr.To[int32](3), Version: "3.6.16", Bootstrap: &v1beta1.BootstrapSpec{Restore: &want},
			},
		},
	}}
}

func newBackup(name string, revision int64, began time.Time) v1beta1.EtcdBackup {
	return v1beta1.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Status: v1beta1.EtcdBackupStatus{
			Conditions: []metav1.Condition{{Type: v1beta1.ConditionComplete, Status: metav1.ConditionTrue}},
			Store:      "offsite", Path: "v1/default/a/" + name, Revision: revision, StartedAt: &metav1.Time{Time: began},
			EtcdVersion: "3.6.10", DatabaseSize: resource.NewQuantity(1<<20, resource.BinarySI), ManifestSHA256: "sum-" + name,
		},
	}
}

func (w *volumesWorld) uid(of string) types.UID {
	w.uids++
	return types.UID(fmt.Sprintf("%s-%d", of, w.uids))
}

func (w *volumesWorld) status() v1beta1.RestoreStatus {
	if w.view.Cluster.Status.Restore == nil {
		return v1beta1.RestoreStatus{}
	}
	return *w.view.Cluster.Status.Restore
}

// obey does the step, as Kubernetes and the controller would.
func (w *volumesWorld) obey(step restore.VolumesStep) {
	w.Helper()
	c := w.view.Cluster
	switch s := step.(type) {
	case restore.VolumesRecord:
		c.Status.Restore, w.events = &s.Status, append(w.events, s.Event)
	case restore.CreateVolumes:
		for _, m := range s.Members {
			if _, there := w.view.Claims[m]; !there {
				claim := restore.NewVolume(c, m)
				claim.UID = w.uid("volume")
				w.view.Claims[m] = *claim
			}
		}
	case restore.CreateJobs:
		for _, m := range s.Members {
			w.createJob(m)
		}
	case restore.MarkVolumes:
		for _, m := range s.Members {
			claim := w.view.Claims[m]
			if !w.data[string(claim.UID)] {
				w.Fatalf("the volume of %s is marked, and has no data", m)
			}
			claim.Annotations = maps.Clone(claim.Annotations)
			claim.Annotations[v1beta1.AnnotationClusterID] = s.ClusterID
			w.view.Claims[m] = claim
		}
	case restore.DeleteJob:
		if job := w.view.Jobs[s.Member]; job.Exists && job.UID == s.UID {
			if !job.Owned {
				w.Fatalf("a foreign job of %s is deleted", s.Member)
			}
			delete(w.view.Jobs, s.Member)
		}
	case restore.FindTarget:
		w.view.Search = searchBegins(s)
	case restore.DropSearch:
		w.view.Search = jobs.Observed{}
	case restore.VolumesWait:
		c.Status.Restore = &s.Status
	case restore.VolumesDone:
	}
}

// dies has the operator die in the middle of a step: of what the step makes only the first is there. It says whether there was a middle.
func (w *volumesWorld) dies(step restore.VolumesStep) bool {
	w.Helper()
	switch s := step.(type) {
	case restore.CreateVolumes:
		w.obey(restore.CreateVolumes{Members: s.Members[:1]})
		return len(s.Members) > 1
	case restore.CreateJobs:
		w.obey(restore.CreateJobs{Members: s.Members[:1]})
		return len(s.Members) > 1
	case restore.MarkVolumes:
		w.obey(restore.MarkVolumes{Members: s.Members[:1], ClusterID: s.ClusterID})
		return len(s.Members) > 1
	case restore.VolumesRecord, restore.DeleteJob, restore.VolumesWait, restore.VolumesDone:
		// one write, which was not made
	}
	return false
}

func (w *volumesWorld) createJob(member string) {
	w.Helper()
	claim, there := w.view.Claims[member]
	switch {
	case w.view.Jobs[member].Exists:
		w.Fatalf("a second job of %s", member)
	case len(w.view.Beside) > 0:
		w.Fatalf("a job of %s beside new members that run", member)
	case !there:
		w.Fatalf("a job of %s, which has no volume", member)
	case claim.Annotations[v1beta1.AnnotationClusterID] != "":
		w.Fatalf("the volume of %s has the data, and is filled again", member)
	case claim.Annotations[v1beta1.AnnotationToken] != "uid":
		w.Fatalf("the volume of %s is foreign, and is filled", member)
	case !w.view.Cluster.IsRestoring() && (w.view.Cluster.Status.Bootstrap != nil || len(w.view.Pods) > 0):
		w.Fatalf("a job of %s beside members", member)
	}
	w.jobs++
	w.view.Jobs[member] = jobs.Observed{
		Exists: true, Owned: true, Name: jobs.RestoreName(member), UID: string(w.uid("job")), For: string(claim.UID),
		Created: w.view.Now, Begun: w.view.Now,
	}
}

// settles obeys until the plan waits or is done.
func (w *volumesWorld) settles() restore.VolumesStep {
	w.Helper()
	for range 100 {
		step, _ := restore.NextOfVolumes(w.view)
		w.obey(step)
		switch step.(type) {
		case restore.VolumesWait, restore.VolumesDone:
			return step
		}
	}
	w.Fatal("it never settles")
	return nil
}

// end has the Job of a member end.
func (w *volumesWorld) end(member string, end jobspec.Line) {
	job := w.view.Jobs[member]
	job.Ended, job.EndedAt, job.Lines = true, w.view.Now, []jobspec.Line{end}
	w.view.Jobs[member] = job
	if end.Done != nil {
		w.data[job.For] = true
	}
}

// succeed has the Jobs of all members end well.
func (w *volumesWorld) succeed() {
	for _, m := range slices.Sorted(maps.Keys(w.view.Jobs)) {
		w.end(m, jobspec.Line{Done: &jobspec.Done{}})
	}
}

// progress is how far the Job of a member is.
func (w *volumesWorld) progress(member string, read, total int64) {
	job := w.view.Jobs[member]
	job.Progress = jobspec.Progress{Read: read, Total: total}
	w.view.Jobs[member] = job
}

// loseVolume deletes the volume of a member by other means.
func (w *volumesWorld) loseVolume(member string) {
	delete(w.view.Claims, member)
}

func failed(message string, final bool) jobspec.Line {
	return jobspec.Line{Failed: &jobspec.Failed{Reason: jobspec.StoreFailed, Message: message, Final: final}}
}

func next(w *volumesWorld) restore.VolumesStep {
	step, _ := restore.NextOfVolumes(w.view)
	return step
}
