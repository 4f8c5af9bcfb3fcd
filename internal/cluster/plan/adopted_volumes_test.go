// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// parseKeeping reads what a script says of an adoption that keeps volumes. The Pods of sources are there as the StatefulSet says.
func parseKeeping(t *testing.T, d *datadriven.TestData, v *cluster.View) {
	if v.Adoption.Keeps = d.HasArg("keep"); !v.Adoption.Keeps {
		return
	}
	unfit, inUse := "", ""
	d.MaybeScanArgs(t, "unfit-volume", &unfit)
	d.MaybeScanArgs(t, "in-use", &inUse)
	for _, source := range v.Adoption.Sources {
		volume := keptVolume(source.Name, v.Adoption.Workload.Replicas)
		volume.InUse = volume.InUse || source.Name == inUse
		if source.Name == unfit {
			volume.Unfit = "claim a-2 is not bound, or is being deleted"
		}
		v.Adoption.Volumes = append(v.Adoption.Volumes, volume)
	}
	v.Record.NextSerial = len(v.Adoption.Sources)
}

func keptVolume(source string, replicas int) cluster.SourceVolume {
	ordinal := cluster.Ordinal(source)
	return cluster.SourceVolume{Source: source, Member: cluster.MemberName("a", ordinal), Directory: "data", InUse: ordinal < replicas}
}

// stopPods has the StatefulSet run that many Pods.
func (w *world) stopPods(replicas int) {
	w.view.Adoption.Volumes = slices.Clone(w.view.Adoption.Volumes)
	for i := range w.view.Adoption.Volumes {
		volume := &w.view.Adoption.Volumes[i]
		volume.InUse = cluster.Ordinal(volume.Source) < replicas
	}
}

func (w *world) adoptVolume(s plan.AdoptVolume) {
	if w.at(s.Name).Volume = cluster.Kept; s.Back {
		w.at(s.Name).Volume = cluster.NoVolume
	}
}

// become has etcd list a source as a member of ours. What the source says does not count as said by the member.
func (w *world) become(s plan.UpdatePeerURLs) {
	i := w.source(s.Of)
	if s.Of == "" || i < 0 {
		return
	}
	m := w.at(s.Name)
	if m.Volume != cluster.Kept {
		w.fault = s.Name + " is listed and has no volume"
	}
	m.Role, m.ID, m.Started, w.fate(s.Name).data = cluster.Voter, w.view.Unknown[i].ID, true, true
	w.view.Unknown = slices.Delete(slices.Clone(w.view.Unknown), i, i+1)
}

// TestKeptVolumesKeepAQuorum goes the whole way, and from every moment of it: it is undone there, a source or a member fails there for a
// while, each step is repeated, or the plan sees the cluster as it was a step before. No step may take the quorum away, no member may run
// on a volume that a source runs on, and in the end all members are ours with the IDs that there were.
func TestKeptVolumesKeepAQuorum(t *testing.T) {
	for _, size := range []int{3, 5} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			steps := (&keeping{t: t, size: size, at: -1}).all()
			for at := range steps {
				for _, how := range []string{"undone", "source fails", "member fails", "repeated", "late"} {
					t.Run(fmt.Sprintf("%s at %d", how, at), func(t *testing.T) { (&keeping{t: t, size: size, at: at, how: how}).all() })
				}
			}
		})
	}
}

// A keeping is one way, with one thing that happens at one moment.
type keeping struct {
	t        *testing.T
	size, at int
	how      string
	w        *world
	failed   string // the source that has failed
}

func (k *keeping) all() (steps int) {
	k.w = newWorld(k.size, false)
	v := &k.w.view
	v.Adoption = cluster.Adoption{Wanted: true, Keeps: true, ClusterID: clusterID, At: 1, Services: []cluster.AdoptedService{{Name: "old"}}}
	v.Adoption.Workload = cluster.Workload{Name: "old", Replicas: k.size}
	for i := range k.size {
		words := []string{"source", fmt.Sprintf("old-%d", i)}
		if i == k.size-1 {
			words = append(words, "leader")
		}
		v.Unknown = append(v.Unknown, parseSource(k.w, words))
		v.Adoption.Sources = append(v.Adoption.Sources, cluster.Source{ID: v.Unknown[i].ID, Name: v.Unknown[i].Name})
		v.Adoption.Volumes = append(v.Adoption.Volumes, keptVolume(v.Unknown[i].Name, k.size))
	}
	v.Record.NextSerial, k.w.formed = k.size, true
	before := k.w.clone()
	for taken := range 200 {
		k.disturb(taken)
		step, because := plan.Next(k.w.view)
		if k.how == "late" && taken == k.at+1 {
			step, because = plan.Next(before.view)
		}
		said := fmt.Sprintf("%d: %s (%s)", taken, step, because)
		before = k.w.clone()
		k.obey(step, said)
		if k.how == "repeated" {
			k.obey(step, said)
		}
		if step == (plan.Done{}) || v.Adoption.Undo && plan.Rests(step) {
			k.mustHaveEnded()
			return taken
		}
		k.comeBack(step, taken)
	}
	k.t.Fatal("the adoption never ends")
	return 0
}

// disturb is what happens at the moment.
func (k *keeping) disturb(taken int) {
	if taken != k.at {
		return
	}
	v := &k.w.view
	switch k.how {
	case "undone":
		v.Adoption.Undo = true
	case "source fails":
		if len(v.Unknown) > 0 {
			v.Unknown = slices.Clone(v.Unknown)
			led := v.Unknown[0].Leader
			v.Unknown[0].Healthy, v.Unknown[0].Leader, k.failed = false, false, v.Unknown[0].Name
			v.Unknown[len(v.Unknown)-1].Leader = led && len(v.Unknown) > 1 || v.Unknown[len(v.Unknown)-1].Leader
		}
	case "member fails":
		if pods := v.Select(cluster.HasPod); len(pods) > 0 {
			k.w.stop(pods[0].Name, pods[0].Pod.UID)
		}
	}
	k.w.settle()
}

// comeBack ends the failure of a source once the plan waits.
func (k *keeping) comeBack(step plan.Step, taken int) {
	i := k.w.source(k.failed)
	if k.failed == "" || i < 0 || !plan.Rests(step) && taken < k.at+20 {
		return
	}
	k.w.view.Unknown = slices.Clone(k.w.view.Unknown)
	k.w.view.Unknown[i].Healthy, k.failed = true, ""
	k.w.settle()
}

func (k *keeping) obey(step plan.Step, said string) {
	k.t.Helper()
	before := votersOf(k.w.view)
	k.w.obey(step)
	k.w.settle()
	after := votersOf(k.w.view)
	if quorum.Holds(before[1], before[0]) && !quorum.Holds(after[1], after[0]) {
		k.t.Errorf("%s: %d of %d voters are healthy", said, after[1], after[0])
	}
	if d := after[0] - before[0]; d != 0 {
		k.t.Errorf("%s: %d voters become %d", said, before[0], after[0])
	}
	if k.w.fault != "" {
		k.t.Errorf("%s: %s", said, k.w.fault)
	}
	for _, volume := range k.w.view.Adoption.Volumes {
		if m, _ := k.w.view.Member(volume.Member); volume.InUse && m.Pod.Exists() {
			k.t.Errorf("%s: %s and %s run on one volume", said, volume.Source, m.Name)
		}
	}
}

func (k *keeping) mustHaveEnded() {
	k.t.Helper()
	v := k.w.view
	ours := v.Select(cluster.IsVoter)
	marked := v.Count(cluster.Not(cluster.IsListed), func(m cluster.Member) bool { return m.Volume == cluster.Kept })
	switch {
	case v.Record.Adopting.Ended > 0 && len(ours) == k.size && len(v.Unknown) == 0 && v.Adoption.Workload.Replicas == 0:
		for i, m := range ours {
			if want := v.Record.Adopting.Sources[i].ID; m.ID != want {
				k.t.Errorf("%s has the ID %x, its source had %x", m.Name, m.ID, want)
			}
		}
	case v.Adoption.Undo && len(ours) == 0 && len(v.Unknown) == k.size && v.Adoption.Workload.Replicas == k.size && marked == 0:
	default:
		k.t.Errorf("%d members of ours, %d sources, %d marked volumes: %+v", len(ours), len(v.Unknown), marked, v.Adoption)
	}
}
