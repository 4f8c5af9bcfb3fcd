// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// eachRestoring makes every moment of a restore that a cluster begins with: some volumes have the data, others are yet to be made, or
// were lost after all had it. Another size may be wanted by now.
func eachRestoring(visit func(*world)) {
	for _, size := range []int{1, 3, 5} {
		for _, want := range []int{0, 1, 3, 5} {
			for code := range power(2, size) {
				for _, restored := range []bool{false, true} {
					visit(restoringWorld(digits(code, 2, size), want, restored))
				}
			}
		}
	}
}

// restoringWorld is one in which some volumes are filled. The status may say that all were.
func restoringWorld(filled []int, want int, restored bool) *world {
	w := newWorld(want, false)
	w.restoring, w.restored, w.view.Restore.Wanted = len(filled), restored, true
	for i, is := range filled {
		if is == 1 {
			w.fill(i)
		}
	}
	w.settle()
	return w
}

// fill has the Job of a member end well, and its volume be marked.
func (w *world) fill(serial int) {
	var first []string
	for i := range w.restoring {
		first = append(first, cluster.MemberName("a", i))
	}
	w.fates[serial].data = true
	w.view.Volumes = append(slices.Clip(w.view.Volumes), cluster.Volume{
		Name: first[serial], Token: w.view.UID, First: first, ClusterID: clusterID, Version: "3.6.16",
	})
	slices.SortFunc(w.view.Volumes, func(a, b cluster.Volume) int { return cluster.Serial("a", a.Name) - cluster.Serial("a", b.Name) })
}

// restore does what the reconciler of restores does meanwhile: it fills the next volume, and says when all are.
func (w *world) restore() {
	v := &w.view
	if w.restoring == 0 || v.Planned() {
		return
	}
	missing := slices.IndexFunc(w.fates[:w.restoring], func(f fate) bool { return !f.data })
	switch {
	case missing < 0:
		w.restored = true
	case w.restored:
		w.restored = false // one was lost
	case v.Want.Size > 0:
		w.fill(missing)
	}
	v.Restore.Done = w.restored && len(v.Volumes) == w.restoring
	v.Restore.Progress = fmt.Sprintf("%d of %d volumes to be filled", w.restoring-len(v.Volumes), w.restoring)
}

// restoreViolation guards what a cluster begins with: its first members are those of the restore, each on a volume that has the data.
func restoreViolation(before *world, step plan.Step) string {
	if before.restoring == 0 {
		return ""
	}
	switch s := step.(type) {
	case plan.Record:
		if s.Event == "BootstrapPlanned" || s.Event == "VolumesAdopted" && !s.Fact.Adopted {
			return step.String() + " although the cluster is to begin with a backup"
		}
		if s.Event == "VolumesAdopted" && len(s.Fact.First) != before.restoring {
			return step.String() + " although other first members were chosen"
		}
	case plan.CreatePods:
		for _, name := range s.Names {
			if m := before.member(name); !cluster.IsLearner(m) && !before.fate(name).data {
				return name + " is started, and its volume was not restored"
			}
		}
	}
	return ""
}

// keepsRestored says whether a cluster does not begin although all its volumes have the data.
func keepsRestored(w *world) bool {
	v := &w.view
	return w.restoring > 0 && v.Restore.Done && !v.Planned() && v.Want.Size > 0
}
