// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// giving is what replaces the members of a world: a backup, or what there was before one was restored.
type giving struct {
	from, many int  // serial numbers of those that are to come; none: no restore in place
	undo       bool // they come back from where they were set aside
	lost       bool // the volume of one is lost when it has begun to replace the others, and is filled again
	waited     int  // looks for which they were waited for, to serve beside the others
	over       bool // they are the members
}

func (g giving) serials() (all []int) {
	for i := range g.many {
		all = append(all, g.from+i)
	}
	return all
}

// givingStates are those of members that are to be replaced.
var givingStates = []state{
	func(*fate, *cluster.Member) {},
	func(f *fate, _ *cluster.Member) { f.broken = true },
	func(_ *fate, m *cluster.Member) { m.Pod = cluster.Pod{} },
	func(f *fate, m *cluster.Member) { m.Pod, m.Volume, f.data = cluster.Pod{}, cluster.NoVolume, false },
	func(f *fate, m *cluster.Member) {
		f.silent, m.Pod.Deletion, m.Pod.Overdue = true, cluster.Terminating, true
	},
	func(_ *fate, m *cluster.Member) { m.Volume = cluster.Going },
	func(f *fate, _ *cluster.Member) { f.nodeGone = true },
	func(f *fate, _ *cluster.Member) { f.stale = true },
}

// eachGiving makes every moment of a restore in place, and of its undo: volumes are being filled beside members in any state, or
// those that were set aside come back.
func eachGiving(visit func(*world)) {
	for _, want := range []int{0, 1, 3} {
		for _, many := range []int{1, 3} {
			for members := 1; members <= 3; members++ {
				eachList(len(givingStates), members, func(states []int) {
					for _, g := range []goal{
						{size: want, version: "3.6.16", trusting: true}, {size: want, version: "3.7.3"}, {size: want, version: "3.6.16", missing: true},
					} {
						for _, to := range []giving{{}, {undo: true}, {lost: true}} {
							to.from, to.many = 8, many
							visit(givingWorld(g, states, to))
						}
					}
				})
			}
		}
	}
}

func givingWorld(g goal, states []int, to giving) *world {
	g.own = givingStates
	w := formedWorld(g, states, noLearner)
	w.giving = to
	w.view.Record.NextSerial = to.from + to.many
	if to.undo || to.lost {
		for _, serial := range to.serials() {
			w.fates[serial].data = true
		}
		w.choose()
	}
	if to.lost {
		w.fates[to.from].data, w.at(cluster.MemberName("a", to.from)).Volume, w.view.Restore.Done = false, cluster.NoVolume, false
	}
	w.settle()
	return w
}

// choose shows the members to come, and that they replace all others.
func (w *world) choose() {
	w.view.Restore = cluster.Restore{InPlace: "r1", Undo: w.giving.undo, Done: true}
	w.view.Candidate.Request.Fills = false
	for i, serial := range w.giving.serials() {
		m := w.at(cluster.MemberName("a", serial))
		m.Chosen, m.SetAside, m.Volume, m.Version = true, w.giving.undo, cluster.Kept, "3.6.16"
		if len(w.view.Beside) > 0 {
			m.Pod = w.view.Beside[i].Pod
		}
	}
	w.view.Beside = nil
}

// servesBeside says whether new members are waited for that are to serve beside the others, as the reconciler of restores does: where
// these serve, and not for ever.
func (w *world) servesBeside() bool {
	if w.view.Unread != "" || w.giving.waited > 4 {
		return false
	}
	w.giving.waited++
	if len(w.view.Beside) == 0 {
		for _, serial := range w.giving.serials() {
			w.view.Beside = append(w.view.Beside, cluster.Member{
				Name: cluster.MemberName("a", serial), Volume: cluster.Kept, Version: "3.6.16", Started: true,
			})
		}
		return true
	}
	return slices.ContainsFunc(w.view.Beside, func(m cluster.Member) bool { return !m.Pod.Exists() })
}

// startBeside makes Pods beside the members that they are to replace. They run at once, and no client is sent to them. By an old view that
// happens when they already replace them, or have.
func (w *world) startBeside(names []string) {
	for _, all := range [][]cluster.Member{w.view.Beside, w.view.Members} {
		for i := range all {
			if m := &all[i]; slices.Contains(names, m.Name) && !m.Pod.Exists() {
				m.Pod = besidePod(w)
			}
		}
	}
}

func besidePod(w *world) cluster.Pod {
	return cluster.Pod{
		Phase: cluster.Running, UID: w.nextUID(), Image: "3.6.16", Ready: true, Lingers: true, Unchecked: true,
		Clients: cluster.Gone, Entry: cluster.Ends,
	}
}

// isFilling says whether members are about to be chosen.
func (w *world) isFilling() bool {
	return w.giving.many > 0 && !w.giving.over && !w.giving.undo && w.view.Want.Size > 0 && w.view.Restore.InPlace == ""
}

// fillInPlace does what the reconciler of restores does meanwhile: it fills the next volume, and says when all have the data.
func (w *world) fillInPlace() {
	if w.giving.many == 0 || w.giving.over || w.giving.undo || w.view.Want.Size == 0 {
		return
	}
	for _, serial := range w.giving.serials() {
		if !w.fates[serial].data {
			w.fates[serial].data = true
			return
		}
	}
	if !w.view.Restore.Done && !w.servesBeside() {
		w.choose()
	}
}

// giveWay is what etcd is once the cluster has adopted the chosen: another cluster.
func (w *world) giveWay() {
	w.giving.over, w.view.Restore, w.view.Candidate = true, cluster.Restore{}, cluster.RestoreCandidate{}
	w.corrupt, w.missing, w.downgrade, w.minor = 0, false, "", ""
	for i := range w.view.Members {
		m := &w.view.Members[i]
		if !m.Chosen {
			m.Role, m.ID, m.Leader, m.Recorded = cluster.Unlisted, 0, false, false
		}
		m.Chosen = false
	}
}

// givingViolation guards both histories: of the old members nothing is lost, and no new one runs beside them.
func givingViolation(before *world, step plan.Step) string {
	others := before.view.Select(cluster.Not(cluster.IsChosen))
	switch s := step.(type) {
	case plan.Record:
		running := slices.ContainsFunc(others, func(m cluster.Member) bool { return m.Pod.Exists() && !m.Pod.Overdue })
		kept := slices.ContainsFunc(others, func(m cluster.Member) bool { return m.Volume == cluster.Kept })
		aside := slices.ContainsFunc(before.view.Members, func(m cluster.Member) bool { return m.Chosen && m.SetAside })
		early := running || kept || aside || !before.view.Restore.Done
		if early || len(s.Fact.First) != before.giving.many || s.Fact.Restore != before.view.Restore.InPlace {
			return step.String() + " before the others were replaced"
		}
	case plan.CreatePods: // by an old view an old member starts once more, and is stopped
		if !s.Beside && slices.ContainsFunc(s.Names, func(name string) bool { return before.member(name).Chosen }) {
			return step.String() + " while members are replaced"
		}
	case plan.MarkPods, plan.DeleteVolume, plan.AddLearner, plan.Promote, plan.RemoveMember:
		return step.String() + " while members are replaced"
	case plan.DeletePods:
		for _, pod := range s.Pods {
			if m := before.member(pod.Name); m.Volume == cluster.Going && !m.Pod.IsTerminating() && before.view.Want.Size > 0 {
				return "I3: the data of " + m.Name + " goes with its Pod, and could not come back"
			}
		}
	case plan.Quarantine:
		if before.member(s.Name).Chosen {
			return "the volume of " + s.Name + " is set aside, which replaces the others"
		}
	}
	return ""
}

// keepsOthers says whether members have yet to be replaced although nothing prevents it: a Pod that ends, or whose node is silent,
// or data that goes with its Pod. A volume that is being filled is waited for.
func keepsOthers(w *world) bool {
	if w.view.Restore.InPlace == "" || !w.view.Restore.Done || w.view.Want.Size == 0 {
		return false
	}
	return !slices.ContainsFunc(w.view.Members, func(m cluster.Member) bool {
		return !m.Chosen && (m.Pod.IsTerminating() || m.Volume == cluster.Going && m.Pod.Exists())
	})
}
