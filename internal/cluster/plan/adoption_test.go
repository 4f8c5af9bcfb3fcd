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

// parseAdoption reads what a script says of the running cluster that is adopted.
func parseAdoption(t *testing.T, d *datadriven.TestData, v *cluster.View) {
	if !d.HasArg("adopt") {
		return
	}
	v.Adoption.Wanted, v.Adoption.ClusterID, v.Adoption.At = true, clusterID, 1
	v.Adoption.Undo, v.Adoption.Sleepy = d.HasArg("undo") || d.HasArg("leaving") || d.HasArg("cascades"), d.HasArg("sleepy")
	v.Adoption.Held = v.Record.Token != "" && !d.HasArg("free")
	if d.HasArg("away") {
		v.Adoption.Unreachable = "no member answers"
	}
	d.MaybeScanArgs(t, "unfit-source", &v.Adoption.Unfit)
	if d.MaybeScanArgs(t, "replicas", &v.Adoption.Workload.Replicas) {
		v.Adoption.Workload.Name = "old"
	}
	for _, m := range v.Unknown {
		if !m.Source {
			continue
		}
		v.Adoption.Sources = append(v.Adoption.Sources, cluster.Source{ID: m.ID, Name: m.Name, PeerURLs: []string{m.PeerURL}})
	}
	parseKeeping(t, d, v)
	if v.Record.Token != "" {
		v.Record.Adopting = cluster.Adopting{Sources: v.Adoption.Sources, Begun: 1}
	}
	v.Adoption.Workload.Ordered = d.HasArg("ordered")
	v.Adoption.Workload.Refused = choose(d.HasArg("silent-set"), "statefulset/old does not allow it")
	if d.HasArg("complete") {
		v.Adoption.Wanted, v.Adoption.Held, v.Record.Adopting.Ended = false, false, 2
	}
	v.Unknown = slices.DeleteFunc(v.Unknown, func(m cluster.UnknownMember) bool { return m.Home == "gone" })
}

// parseService is a Service of the sources: a name, and the words switched, gone and silent (it does not agree).
func parseService(words []string) cluster.AdoptedService {
	is := func(word string) bool { return slices.Contains(words[2:], word) }
	return cluster.AdoptedService{
		Name: words[1], Switched: is("switched"), Missing: is("gone"), Refused: choose(is("silent"), "service/"+words[1]+" does not allow it"),
	}
}

// parseSource is a member of a running cluster that is adopted: a name, and the words leader, down and gone (it was removed).
func parseSource(w *world, words []string) cluster.UnknownMember {
	url := "http://" + words[1]
	return cluster.UnknownMember{
		ID: 0x500 + uint64(len(w.view.Unknown)), Name: words[1], PeerURL: url, Voter: true, Source: true, URL: url,
		Home: choose(slices.Contains(words, "gone"), "gone"), Healthy: !slices.Contains(words, "down"), Leader: slices.Contains(words, "leader"),
	}
}

func choose(is bool, word string) string {
	if is {
		return word
	}
	return ""
}

// source is which of the unknown members has that name; -1 if none has.
func (w *world) source(name string) int {
	return slices.IndexFunc(w.view.Unknown, func(m cluster.UnknownMember) bool { return m.Source && m.Name == name })
}

// stopSources stops those whose Pods a StatefulSet of that size does not have.
func (w *world) stopSources(replicas int) {
	w.view.Adoption.Workload.Replicas = replicas
	w.view.Unknown = slices.Clone(w.view.Unknown)
	for i := range w.view.Unknown {
		m := &w.view.Unknown[i]
		m.Healthy = cluster.Ordinal(m.Name) < replicas
	}
	w.stopPods(replicas)
}

func (w *world) route(s plan.RouteService) {
	w.view.Adoption.Services = slices.Clone(w.view.Adoption.Services)
	for i := range w.view.Adoption.Services {
		if w.view.Adoption.Services[i].Name == s.Name {
			w.view.Adoption.Services[i].Switched = !s.Back
		}
	}
}

// moveBeyond moves leadership from a source, or to one, and says whether it was either.
func (w *world) moveBeyond(s plan.MoveLeader) bool {
	from, to := w.source(s.From), w.source(s.To)
	if from < 0 && to < 0 {
		return false
	}
	w.view.Unknown = slices.Clone(w.view.Unknown)
	for name, leads := range map[string]bool{s.From: false, s.To: true} {
		if i := w.source(name); i >= 0 {
			w.view.Unknown[i].Leader = leads
		} else {
			w.at(name).Leader = leads
		}
	}
	return true
}

// TestAdoptionsKeepAQuorum goes the whole way from each size to each, and back from every moment of it: with one member down the others
// are a quorum after each step, one member joins or leaves at a time, and in the end all members are ours, or all are those that were
// there.
func TestAdoptionsKeepAQuorum(t *testing.T) {
	for _, sources := range []int{1, 2, 3, 5} {
		for _, size := range []int{1, 3, 5} {
			t.Run(fmt.Sprintf("%d to %d", sources, size), func(t *testing.T) {
				steps := adoptAll(t, sources, size, -1)
				for turned := range steps {
					adoptAll(t, sources, size, turned)
					deleteAdopting(t, sources, size, turned)
				}
			})
		}
	}
}

// adoptAll is how many steps an adoption takes that is undone after so many of them; -1: it is not.
func adoptAll(t *testing.T, sources, size, turned int) int {
	w := adoptingWorld(sources, size)
	v := &w.view
	for taken := range 200 {
		if taken == turned {
			v.Adoption.Undo = true
		}
		w.advance(t)
		step, _ := plan.Next(*v)
		if (step == plan.Done{}) || v.Adoption.Undo && plan.Rests(step) && len(v.Unknown) > 0 {
			mustHaveEnded(t, *v, sources, size)
			return taken + 1
		}
	}
	t.Fatal("the adoption never ends")
	return 0
}

// deleteAdopting deletes the EtcdCluster after so many steps: it is gone only when none of its members is left beside a source.
func deleteAdopting(t *testing.T, sources, size, deleted int) {
	w := adoptingWorld(sources, size)
	v := &w.view
	for taken := range 200 {
		if taken == deleted {
			v.Backup.Leaving, v.Adoption.Undo, v.Deleting = true, v.Adoption.Wanted, !v.Adoption.Held
		}
		if v.Deleting {
			if ours := v.Count(cluster.IsListed); ours > 0 && len(v.Unknown) > 0 || v.Adoption.Services[0].Switched && len(v.Unknown) > 0 {
				t.Errorf("deleted after %d steps: gone with %d members beside %d sources", deleted, ours, len(v.Unknown))
			}
			return
		}
		w.advance(t)
	}
	t.Errorf("deleted after %d steps: it is never gone", deleted)
}

// advance takes one step, and judges what it leaves.
func (w *world) advance(t *testing.T) {
	t.Helper()
	step, because := plan.Next(w.view)
	before := votersOf(w.view)
	w.obey(step)
	w.settle()
	judge(t, before, votersOf(w.view), fmt.Sprintf("%s (%s)", step, because))
}

// adoptingWorld is a cluster of that size before it adopts one of so many sources.
func adoptingWorld(sources, size int) *world {
	w := newWorld(size, false)
	v := &w.view
	v.Adoption = cluster.Adoption{Wanted: true, ClusterID: clusterID, At: 1, Services: []cluster.AdoptedService{{Name: "old"}}}
	v.Adoption.Workload = cluster.Workload{Name: "old", Replicas: sources}
	for i := range sources {
		words := []string{"source", fmt.Sprintf("old-%d", i)}
		if i == sources-1 {
			words = append(words, "leader")
		}
		v.Unknown = append(v.Unknown, parseSource(w, words))
		v.Adoption.Sources = append(v.Adoption.Sources, cluster.Source{ID: v.Unknown[i].ID, Name: v.Unknown[i].Name})
	}
	w.formed = true
	return w
}

// votersOf is how many voters there are and how many of them are healthy.
func votersOf(v cluster.View) [2]int {
	return [2]int{
		v.Count(cluster.IsVoter) + v.UnknownVoters(),
		v.Count(cluster.IsVoter, cluster.IsHealthy) + v.HealthySources(),
	}
}

func judge(t *testing.T, before, after [2]int, step string) {
	t.Helper()
	if d := after[0] - before[0]; d < -1 || d > 1 {
		t.Errorf("%s: %d voters become %d", step, before[0], after[0])
	}
	if !quorum.Holds(after[1], after[0]) {
		t.Errorf("%s: %d of %d voters are healthy", step, after[1], after[0])
	}
}

func mustHaveEnded(t *testing.T, v cluster.View, sources, size int) {
	t.Helper()
	ours, theirs := v.Count(cluster.IsVoter), v.UnknownVoters()
	switch {
	case v.Record.Adopting.Ended > 0 && ours == size && theirs == 0 && v.Adoption.Workload.Replicas == 0 && v.Adoption.Services[0].Switched:
	case v.Adoption.Undo && ours == 0 && theirs > 0 && theirs <= sources && !v.Adoption.Services[0].Switched:
	default:
		t.Errorf("%d members of ours and %d that were there: %+v", ours, theirs, v.Adoption)
	}
}
