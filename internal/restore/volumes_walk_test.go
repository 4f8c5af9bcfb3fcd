// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestWalk has the plan of restores and that of clusters look at one world in turn, while Jobs fail and fall silent, volumes are
// deleted, steps have no effect and the cluster's view is old. Whatever happens, the cluster begins with exactly its first members,
// each on a volume that has the data, and with nothing else; and it begins as soon as nothing is in the way any more.
func TestWalk(t *testing.T) {
	seeds, begun, lost, middles := 3000, 0, 0, 0
	if testing.Short() {
		seeds = 500
	}
	for seed := range uint64(seeds) { //nolint:gosec // a small number
		w := &walk{volumesWorld: newVolumesWorld(t, v1beta1.Restore{Backup: "first"}), random: rand.New(rand.NewPCG(seed, 1)), seed: seed}
		w.old = w.view.Cluster.DeepCopy()
		for range 10 + w.random.IntN(120) {
			w.turn()
		}
		if w.hasBegun() {
			begun++
		}
		lost += w.lost
		middles += w.middles
		w.calm()
	}
	t.Logf("%d of %d began in between, %d volumes were lost", begun, seeds, lost)
	if begun < seeds/10 || begun > seeds*9/10 || lost < seeds/2 || middles < seeds/20 {
		t.Errorf("the walk goes no way that matters: %d began in between, %d volumes were lost, %d steps were cut", begun, lost, middles)
	}
}

// A walk is one way that a world may go.
type walk struct {
	*volumesWorld
	random *rand.Rand
	seed   uint64
	old    *v1beta1.EtcdCluster // what a cache that is behind shows
	wrote  int                  // writes of the status
	oldAt  int                  // as of which write the cache is
	lost   int
	// middles is how often the operator died in the middle of a step.
	middles int
}

func (w *walk) hasBegun() bool { return w.view.Cluster.Status.Bootstrap != nil }

// turn has one thing happen.
func (w *walk) turn() {
	w.Helper()
	member := "a-" + string(rune('0'+w.random.IntN(3)))
	switch w.random.IntN(14) {
	case 0, 1, 2, 3:
		w.restore()
	case 4:
		w.cluster()
	case 5:
		w.see()
		w.cluster()
	case 6:
		if w.dies(next(w.volumesWorld)) {
			w.middles++
		}
	case 7:
		w.see()
	case 8:
		w.view.Now = w.view.Now.Add(time.Duration(w.random.IntN(200)) * time.Second)
	case 9:
		for _, m := range w.status().Members {
			w.ends(m, jobspec.Line{Done: &jobspec.Done{}})
		}
	case 10:
		w.ends(member, failed("no", w.random.IntN(2) == 0))
	case 11:
		w.ends(member, jobspec.Line{Done: &jobspec.Done{}})
		w.mute(member)
	case 12:
		if !w.hasBegun() && len(w.view.Claims) > 0 && w.random.IntN(3) == 0 {
			w.loseVolume(member)
			w.lost++
		}
	case 13:
		w.view.Cluster.Spec.Size = ptr.To([]int32{1, 3, 5}[w.random.IntN(3)])
	}
}

func (w *walk) ends(member string, line jobspec.Line) {
	job := w.view.Jobs[member]
	if !job.Exists || job.Ended {
		return
	}
	if claim, there := w.view.Claims[member]; !there || job.For != string(claim.UID) {
		line = failed("the volume is gone", false)
	}
	w.end(member, line)
}

// mute loses what a Job has said.
func (w *walk) mute(member string) {
	if job := w.view.Jobs[member]; job.Ended {
		job.Lines = nil
		w.view.Jobs[member] = job
	}
}

// restore has the reconciler of restores take a step. It reads from the API server.
func (w *walk) restore() {
	w.Helper()
	before := w.view.Cluster.Status.DeepCopy()
	w.obey(next(w.volumesWorld))
	if !equal(*before, w.view.Cluster.Status) {
		w.wrote++
	}
}

// see brings the cache of the cluster's reconciler up to date.
func (w *walk) see() { w.old, w.oldAt = w.view.Cluster.DeepCopy(), w.wrote }

// cluster has the reconciler of clusters take a step. Before the first members are decided on it reads volumes from the API server,
// and the EtcdCluster from a cache.
func (w *walk) cluster() {
	w.Helper()
	var volumes []corev1.PersistentVolumeClaim
	for _, name := range slices.Sorted(maps.Keys(w.view.Claims)) {
		volumes = append(volumes, w.view.Claims[name])
	}
	view := facts.View(facts.Snapshot{Cluster: w.old, Now: w.view.Now, Volumes: volumes}, &memory.Cluster{})
	step, because := plan.Next(view)
	record, records := step.(plan.Record)
	_, applies := step.(plan.Apply) // Secrets and Services, on which nothing begins
	switch {
	case plan.Rests(step), applies, w.old.Status.Bootstrap != nil:
		return
	case !records || record.Event != "VolumesAdopted" || !record.Fact.Adopted:
		w.Fatalf("seed %d: %s (%s) before the cluster has begun", w.seed, step, because)
	case w.oldAt != w.wrote:
		return // the API server refuses to write a status over a newer one
	}
	w.adopt(record)
	w.view.Cluster.Status = report.Status(w.view.Cluster, view, step, nil)
	w.wrote++
}

func (w *walk) adopt(record plan.Record) {
	w.Helper()
	if !slices.Equal(record.Fact.First, w.status().Members) {
		w.Fatalf("seed %d: %v begin, and %v were to", w.seed, record.Fact.First, w.status().Members)
	}
	for _, m := range record.Fact.First {
		if claim := w.view.Claims[m]; !w.data[string(claim.UID)] {
			w.Fatalf("seed %d: %s begins on a volume without the data", w.seed, m)
		}
	}
}

// calm lets everything go well from now on, and fails if the cluster does not begin.
func (w *walk) calm() {
	w.Helper()
	for range 60 {
		w.view.Now = w.view.Now.Add(10 * time.Minute)
		for range 8 {
			w.restore()
		}
		for _, m := range w.status().Members {
			w.ends(m, jobspec.Line{Done: &jobspec.Done{}})
		}
		w.see()
		w.cluster()
		if w.hasBegun() && len(w.view.Jobs) == 0 {
			return
		}
	}
	w.Fatalf("seed %d: it does not begin: %+v", w.seed, w.status())
}

// equal says whether two statuses say the same of the restore.
func equal(a, b v1beta1.EtcdClusterStatus) bool {
	x, y := a.Restore, b.Restore
	if x == nil || y == nil {
		return x == y
	}
	same := x.Progress == y.Progress && x.Problem == y.Problem && x.Path == y.Path
	return same && (x.RestoredAt == nil) == (y.RestoredAt == nil) && (x.Failure == nil) == (y.Failure == nil)
}
