// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// A goal is what is wanted of a cluster that has formed.
type goal struct {
	size      int
	version   string
	downgrade string // what was enabled in etcd before
	bad       string // a version that does not run
	ephemeral bool
	trusting  bool // the operator may roll back and recover quorum by itself
	rare      bool // members are in rareStates
	missing   bool // a quorum has formed again without data
	lost      loss // what is left of their authority
	spoilt    spoilt
	hollow    bool    // members are in hollowStates
	full      bool    // etcd has raised the alarm NOSPACE
	corrupt   bool    // etcd has raised the alarm CORRUPT, and members are in corruptStates
	accepted  bool    // a person has accepted the loss by the name of the newest backup
	guarded   bool    // another minor version and hibernation wait for a backup
	own       []state // instead of those below
	tls       turning
	deaf      bool // the oldest one refuses reconfiguration while it leads; the initial cluster of a new member is out of date
}

// loss is what has become of the authority that signed for the members.
type loss int

const (
	notLost       loss = iota
	lostHeld           // the Secret that they mount still has what it signed
	lostGone           // that is gone, too
	notLostButOld      // it is there, and is to be rotated
	lostEnded          // it has ended, and a person has asked for another one
	lostReplaced       // what it has signed has expired, which others have issued and replaced; open connections go on
)

// spoilt is an object of the cluster that cannot be brought to the spec.
type spoilt int

const (
	unspoilt       spoilt = iota
	undoneService         // a policy changes the Service back that gives members their names
	refusedSecret         // Kubernetes does not let the Secret be made that members mount
	foreignService        // the Service of clients has another owner
)

func (s spoilt) object() cluster.Object {
	switch s {
	case undoneService:
		return cluster.Object{Kind: "Service", Name: "a"}
	case refusedSecret:
		return cluster.Object{Kind: "Secret", Name: "a-member-tls"}
	default:
		return cluster.Object{}
	}
}

func (s spoilt) denial() cluster.Denial {
	if s == undoneService {
		return cluster.Denial{Undone: true}
	}
	return cluster.Denial{Because: "a webhook says no"}
}

// goals are all combinations that matter. Members run 3.6.16, and 3.5.35 where they
// are old.
func goals() []goal {
	var all []goal
	for _, size := range []int{0, 1, 3, 5} {
		for _, g := range []goal{
			{version: "3.6.16"},
			{version: "3.7.3"},
			{version: "3.7.3", bad: "3.7.3"},
			{version: "3.5.35"},
			{version: "3.5.35", downgrade: "3.5"},
			{version: "3.6.16", downgrade: "3.5"},
			{version: "3.7.3", deaf: true},
		} {
			for _, g.ephemeral = range []bool{false, true} {
				for _, g.trusting = range []bool{false, true} {
					if g.size = size; size > 0 || !g.ephemeral {
						all = append(all, g)
					}
				}
			}
		}
	}
	return append(all, rareGoals()...)
}

// rareGoals are those of the starts that take more to come about.
func rareGoals() []goal {
	var all []goal
	for _, size := range []int{0, 1, 3, 5} {
		for _, g := range []goal{
			{version: "3.6.16", trusting: true},
			{version: "3.6.16", trusting: true, ephemeral: true},
			{version: "3.7.3", bad: "3.7.3"},
			{version: "3.7.3", bad: "3.7.3", trusting: true},
			{version: "3.5.35", bad: "3.5.35", downgrade: "3.5", trusting: true},
			{version: "3.7.3", missing: true, trusting: true},
			{version: "3.7.3", lost: lostHeld, trusting: true},
			{version: "3.7.3", lost: lostGone, trusting: true},
			{version: "3.6.16", lost: notLostButOld, ephemeral: true},
			{version: "3.6.16", lost: lostEnded},
			{version: "3.7.3", lost: lostReplaced, trusting: true},
			{version: "3.7.3", hollow: true},
			{version: "3.6.16", hollow: true, trusting: true},
			{version: "3.7.3", hollow: true, full: true},
			{version: "3.7.3", hollow: true, full: true, guarded: true, trusting: true},
			{version: "3.6.16", hollow: true, full: true, ephemeral: true},
			{version: "3.7.3", corrupt: true, trusting: true},
			{version: "3.6.16", corrupt: true},
			{version: "3.7.3", guarded: true, trusting: true},
			{version: "3.7.3", guarded: true, ephemeral: true},
			{version: "3.5.35", guarded: true},
			{version: "3.6.16", accepted: true},
			{version: "3.7.3", accepted: true, trusting: true},
			{version: "3.7.3", spoilt: undoneService},
			{version: "3.7.3", spoilt: refusedSecret},
			{version: "3.7.3", spoilt: foreignService},
			{version: "3.6.16", tls: turning{on: true}, own: turningStates},
			{version: "3.6.16", tls: turning{on: true, from: cluster.TLSState{Phase: cluster.BothSchemes}}, own: turningStates},
			{version: "3.6.16", tls: turning{from: cluster.TLSState{Phase: cluster.BothSchemes}}, own: turningStates, ephemeral: true},
			{version: "3.7.3", tls: turning{from: cluster.TLSState{Secure: true}}, own: turningStates, trusting: true},
			{version: "3.6.16", tls: turning{from: cluster.TLSState{Secure: true, Phase: cluster.BothSchemes}}, own: turningStates},
			{version: "3.6.16", tls: turning{on: true, from: cluster.TLSState{Secure: true, Phase: cluster.BothSchemes}}, own: turningStates},
			{version: "3.6.16", tls: turning{from: cluster.TLSState{Secure: true, Phase: cluster.Advertised, SwitchedAt: 5}}, own: turningStates},
		} {
			if g.size, g.rare = size, true; size > 0 || !g.ephemeral {
				all = append(all, g)
			}
		}
	}
	return all
}

// states are those that a member may be in.
func (g goal) states() []state {
	if g.own != nil {
		return g.own
	}
	if g.corrupt {
		return corruptStates
	}
	if g.hollow {
		return hollowStates
	}
	if g.rare {
		return rareStates
	}
	return memberStates
}

// eachFormed makes every cluster of up to most members in which each is in one of the
// goal's states, all voters or the newest one a learner. Up to four members
// that means every list of states. Five that are in the same state differ in nothing
// but their age, so every mix of states is made, in some orders.
func eachFormed(g goal, most int, visit func(*world)) {
	for n := 1; n <= most; n++ {
		base, all, some := len(g.states()), eachList, eachList
		if n > 4 {
			all, some = eachTurn, eachMix
		}
		all(base, n, func(states []int) { visit(formedWorld(g, states, noLearner)) })
		if n == 1 {
			continue
		}
		some(base, n-1, func(voters []int) {
			for state := range g.states() {
				states := append(slices.Clip(voters), state)
				visit(formedWorld(g, states, startedLearner))
				visit(formedWorld(g, states, newLearner))
			}
			visit(formedWorld(g, append(slices.Clip(voters), 0), endingLearner))
		})
	}
}

// eachList visits every list of n of so many states.
func eachList(base, n int, visit func(states []int)) {
	for code := range power(base, n) {
		visit(digits(code, base, n))
	}
}

// eachMix visits every mix of n states, sorted forth and back.
func eachMix(base, n int, visit func(states []int)) {
	eachList(base, n, func(states []int) {
		if !slices.IsSorted(states) {
			return
		}
		visit(states)
		slices.Reverse(states)
		visit(states)
	})
}

// eachTurn visits every mix of n states, forth and back, and turns it round so that
// each state comes first and each comes last: the oldest member leads, and the newest
// leaves first.
func eachTurn(base, n int, visit func(states []int)) {
	eachMix(base, n, func(states []int) {
		for k := range states {
			if k == 0 || states[k] != states[k-1] {
				visit(slices.Concat(states[k:], states[:k]))
			}
		}
	})
}

func digits(code, base, n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = code % base
		code /= base
	}
	return all
}

func power(base, exponent int) int {
	result := 1
	for range exponent {
		result *= base
	}
	return result
}

func newWorld(size int, ephemeral bool) *world {
	return &world{view: cluster.View{
		Name: "a", UID: "u1", At: toyNow, Want: cluster.Want{Size: size, Version: "3.6.16", Ephemeral: ephemeral, ReplacesSlow: true},
		Target: cluster.Target{Version: "3.6.16"}, Space: toySpace,
	}}
}

type state = func(f *fate, m *cluster.Member)

var memberStates = []state{
	func(*fate, *cluster.Member) {},
	func(f *fate, _ *cluster.Member) { f.broken = true },
	func(_ *fate, m *cluster.Member) { m.Pod = cluster.Pod{} },
	func(f *fate, m *cluster.Member) { m.Pod, m.Volume, f.data = cluster.Pod{}, cluster.NoVolume, false },
	func(f *fate, _ *cluster.Member) { f.stale = true },
	func(f *fate, _ *cluster.Member) { f.stale, f.broken, f.cured = true, true, true },
	func(f *fate, _ *cluster.Member) { f.damaged = true },
	func(f *fate, _ *cluster.Member) { f.silent = true },
	func(f *fate, _ *cluster.Member) { f.foreign = true },
	func(_ *fate, m *cluster.Member) { m.Version, m.Pod.Image = "3.5.35", "3.5.35" },
	func(_ *fate, m *cluster.Member) { m.Pod.Cordoned = true },
	func(_ *fate, m *cluster.Member) { m.Volume = cluster.Going },
}

// corruptStates are those of members of which some may have other data than the others.
var corruptStates = []state{
	func(*fate, *cluster.Member) {},
	func(f *fate, _ *cluster.Member) { f.odd = true },
	func(f *fate, m *cluster.Member) { f.odd, m.Pod.Cordoned = true, true },
	func(f *fate, _ *cluster.Member) { f.odd, f.stale = true, true },
	func(f *fate, _ *cluster.Member) { f.broken = true },
	func(f *fate, m *cluster.Member) { m.Pod, m.Volume, f.data = cluster.Pod{}, cluster.NoVolume, false },
	func(f *fate, _ *cluster.Member) { f.stale = true },
	func(_ *fate, m *cluster.Member) { m.Pod.Cordoned = true },
}

// hollowStates are those of members of which some are to be defragmented.
var hollowStates = []state{
	func(*fate, *cluster.Member) {},
	func(f *fate, _ *cluster.Member) { f.free = toyFree },
	func(f *fate, _ *cluster.Member) { f.free, f.stale = toyFree, true },
	func(f *fate, m *cluster.Member) { f.free, m.Pod = toyFree, cluster.Pod{} },
	func(f *fate, m *cluster.Member) { f.free, m.Pod.Cordoned = toyFree, true },
	func(f *fate, _ *cluster.Member) { f.broken = true },
	func(f *fate, m *cluster.Member) { m.Pod, m.Volume, f.data = cluster.Pod{}, cluster.NoVolume, false },
}

// rareStates are some of memberStates, beside members that are slow, Pods that are terminating for ever, because
// their node is silent, or that have ended, or whose volume went before a node had them, and
// containers that are down and come back by themselves, or whose node is gone.
var rareStates = []state{
	func(*fate, *cluster.Member) {},
	func(f *fate, _ *cluster.Member) { f.broken = true },
	func(_ *fate, m *cluster.Member) { m.Pod = cluster.Pod{} },
	func(f *fate, m *cluster.Member) { m.Pod, m.Volume, f.data = cluster.Pod{}, cluster.NoVolume, false },
	func(f *fate, _ *cluster.Member) { f.stale = true },
	func(f *fate, m *cluster.Member) {
		f.silent, m.Pod.Deletion, m.Pod.Overdue = true, cluster.Terminating, true
	},
	func(f *fate, m *cluster.Member) {
		f.unreachable, m.Pod.Deletion, m.Pod.Overdue = true, cluster.Terminating, true
	},
	func(_ *fate, m *cluster.Member) { m.Pod.Phase, m.Pod.Deletion = cluster.Finished, cluster.Ended },
	func(f *fate, m *cluster.Member) {
		m.Pod.Phase, m.Volume, f.data = cluster.Unplaced, cluster.NoVolume, false
	},
	func(f *fate, _ *cluster.Member) { f.nodeGone = true },
	func(_ *fate, m *cluster.Member) { m.Sluggish = true },
	func(f *fate, _ *cluster.Member) { f.outworn = true },
	func(_ *fate, m *cluster.Member) { m.Exchange = "another class" },
	func(_ *fate, m *cluster.Member) { m.Exchange, m.Asked, m.Pod = "asked for", true, cluster.Pod{} },
	func(f *fate, m *cluster.Member) { f.away, m.Pod.Proven = 4, true },
	func(f *fate, m *cluster.Member) { f.away, m.Pod.Proven, f.stale = 4, true, true },
}

// learner is what the newest member is, if not a voter.
type learner int

const (
	noLearner learner = iota
	startedLearner
	newLearner
	endingLearner // its Pod is being deleted
)

func formedWorld(g goal, states []int, newest learner) *world {
	w := newWorld(g.size, g.ephemeral)
	w.formed, w.impatient, w.bad, w.downgrade, w.missing = true, true, g.bad, g.downgrade, g.missing
	w.view.Want.Guarded = g.guarded
	w.full, w.view.Want.Heals = g.full, g.full
	w.view.Want.Version, w.view.Want.Automatic, w.view.Want.RollBack = g.version, g.trusting, g.trusting
	w.view.Record = cluster.Record{Token: "u1", ClusterID: clusterID, NextSerial: len(states), Revision: known}
	if g.accepted {
		w.view.Want.Accepted = nightly.String()
	}
	if !g.ephemeral {
		w.offer(nightly)
	}
	w.lose(g.lost)
	w.spoil(g.spoilt)
	w.view.TLS, w.view.Record.TLS = cluster.TLSChange{Wanted: g.tls.on, At: 9}, g.tls.from
	for i, state := range states {
		m := cluster.Member{
			Name: cluster.MemberName("a", i), Recorded: true, Started: true, Role: cluster.Voter, ID: uint64(100 + i), Volume: cluster.Kept,
			Version: "3.6.16", Pod: cluster.Pod{Phase: cluster.Placed, UID: w.nextUID(), Image: "3.6.16"},
		}
		w.fates[i].data, w.fates[i].deaf = true, g.deaf && i == 0
		g.states()[state](&w.fates[i], &m)
		w.fates[i].nodeGone = w.fates[i].nodeGone && !g.ephemeral // no volume is anywhere
		w.fates[i].serves, w.fates[i].listed = max(w.fates[i].serves, g.tls.way(w.fates[i].stale)), g.tls.listed()
		if g.ephemeral && m.Pod.Phase == cluster.Unplaced {
			m.Pod = cluster.Pod{} // data that goes with its Pod waits for no node
		}
		w.view.Members = append(w.view.Members, m)
		if w.fates[i].outworn {
			w.view.Record.Replacing = cluster.Replacing{Member: m.Name, Since: toyNow}
		}
	}
	if newest != noLearner {
		last := len(states) - 1
		w.view.Members[last].Role, w.view.Members[last].Started = cluster.Learner, newest != newLearner
		if newest == endingLearner {
			w.view.Members[last].Pod.Deletion = cluster.Terminating
		}
		if newest == newLearner {
			w.fates[last].data, w.fates[last].initial = false, w.listed()
		}
		if newest == newLearner && g.deaf {
			w.fates[last].initial |= 1 << 31
		}
	}
	if g.corrupt {
		w.raise()
	}
	if w.minor = g.downgrade; w.minor == "" {
		w.version()
	}
	w.settle()
	if !g.trusting { // the others differ in nothing that the budget follows
		w.budget = w.view.MustStay()
	}
	return w
}

// raise raises the alarm CORRUPT: for the newest member whose data differs, as etcd may, or for
// one that has gone, if none is known.
func (w *world) raise() {
	w.corrupt = 999
	for i, m := range w.view.Members {
		if w.fates[i].odd {
			w.corrupt = m.ID
		}
	}
}

// lose takes the authority away that signed for members and their clients.
func (w *world) lose(what loss) {
	w.rotating.of = "a-peer-ca"
	switch what {
	case notLost:
		return
	case lostEnded:
		w.rotating.ended, w.rotating.asked = true, true
		return
	case lostReplaced:
		w.rotating.ended, w.rotating.replaced, w.rotating.open = true, true, true
		return
	case notLostButOld:
		w.rotating.due = true
		return
	case lostHeld, lostGone:
		w.rotating.due = what == lostHeld
	}
	authority := cluster.Object{Kind: "Secret", Name: "a-peer-ca", ChangesCA: true}
	signed := cluster.Object{Kind: "Secret", Name: "a-member-tls", ChangesCA: true}
	if what == lostHeld {
		w.view.Objects = []cluster.Object{authority}
		authority.Holder = signed.Name
	} else {
		w.view.Objects = []cluster.Object{authority, signed}
	}
	w.view.Lost = []cluster.Object{authority}
}

// spoil has an object not be as wanted for good.
func (w *world) spoil(what spoilt) {
	w.spoilt = what
	switch what {
	case undoneService, refusedSecret:
		w.view.Objects = append(w.view.Objects, what.object())
	case foreignService:
		w.view.Foreign = []cluster.Object{{Kind: "Service", Name: "a-client", Why: "no EtcdCluster owns it"}}
	case unspoilt:
	}
}

var firstStates = []func(m *cluster.Member){
	func(*cluster.Member) {},
	func(m *cluster.Member) { m.Volume = cluster.Kept },
	func(m *cluster.Member) {
		m.Volume, m.Pod = cluster.Kept, cluster.Pod{Phase: cluster.Placed, UID: "pod-" + m.Name, Image: "3.6.16"}
	},
	func(m *cluster.Member) {
		m.Volume, m.Pod = cluster.Kept, cluster.Pod{Phase: cluster.Finished, UID: "pod-" + m.Name, Image: "3.6.16"}
	},
	func(m *cluster.Member) { m.Volume, m.Unused = cluster.Kept, true },
	func(m *cluster.Member) {
		m.Volume, m.Unused, m.Pod = cluster.Kept, true, cluster.Pod{Phase: cluster.Unplaced, UID: "pod-" + m.Name, Image: "3.6.16"}
	},
}

// eachUnformed makes every moment of a bootstrap, also where a smaller size is wanted by
// now, or another class of volumes.
func eachUnformed(visit func(*world)) {
	for _, ephemeral := range []bool{false, true} {
		for _, size := range []int{1, 3, 5} {
			for code := range power(len(firstStates), size) {
				states := digits(code, len(firstStates), size)
				visit(unformedWorld(states, size, ephemeral, false, false))
				if size > 1 {
					visit(unformedWorld(states, size-2, ephemeral, false, false))
				}
				if !ephemeral {
					visit(unformedWorld(states, size, ephemeral, true, false))
					visit(unformedWorld(states, 1, ephemeral, true, false))
				}
				if !ephemeral && size < 5 {
					visit(unformedWorld(states, size, ephemeral, false, true))
				}
			}
			visit(newWorld(size, ephemeral))
		}
	}
}

// unformedWorld is one in which the first members are chosen. No disk is found for volumes that are
// unfit and were never used.
func unformedWorld(states []int, want int, ephemeral, unfit, unseen bool) *world {
	w := newWorld(want, ephemeral)
	var names []string
	for i := range states {
		names = append(names, cluster.MemberName("a", i))
	}
	w.obey(plan.Record{Fact: cluster.Record{Token: w.view.UID, First: names, NextSerial: len(names)}})
	for i, state := range states {
		m := w.at(names[i])
		firstStates[state](m)
		m.Unused = m.Unused && !ephemeral
		w.fate(names[i]).unfit = unfit && m.Unused
		w.fate(names[i]).data = unseen && m.Volume == cluster.Kept && !m.Unused
		w.unseen = w.unseen || w.fate(names[i]).data
	}
	w.settle()
	return w
}
