// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// neglect says what must not be left as it is when the plan rests. A walk that ends is
// not enough: a walk also ends if the plan waits for ever for something that never happens.
func neglect(w *world) string {
	switch {
	case w.lacksWrites():
		return "" // nothing may be changed
	case keepsOthers(w):
		return "members are not replaced by those that have the data of a backup"
	case w.view.Restore.InPlace != "":
		return "" // none of them is to be repaired
	case leavesAccepted(w):
		return "the cluster is not brought back to the backup that was accepted"
	case servesForeign(w):
		return "clients still reach data of another cluster"
	case stalls(w):
		return "no new cluster is forced"
	case keepsStranded(w):
		return "a member is kept whose node is silent for too long, or gone"
	case keepsLost(w):
		return "a member is kept whose data is gone"
	case keepsOdd(w):
		return "a member is kept whose data is not that of the others"
	case misleads(w):
		return "a member is left that cannot join by its initial cluster"
	case reopens(w):
		return "a member would form or join the cluster again if its data directory was emptied"
	case leavesUnchecked(w):
		return "a member would start on data that is not that of its peers"
	case keepsRestored(w):
		return "a cluster does not begin although its volumes have the data"
	case keepsBack(w):
		return "a change waits for a backup that is good"
	case keepsSwitching(w):
		return "TLS is not turned on or off although all members are well"
	case keepsRotating(w):
		return "a rotation is not finished although all members are well"
	case keepsOut(w):
		return "a downgrade is enabled while a member is to join, which etcd refuses then"
	case keepsExchanged(w):
		return "a member is not replaced although all are well and another one is wanted in its place"
	case w.view.Count(cluster.IsListed, cluster.HasPod, func(m cluster.Member) bool {
		return m.Pod.DefragmentsAgain && !m.Pod.IsTerminating()
	}) > 0 && w.view.Want.Size > 0:
		return "a container would defragment each time that it starts"
	case keepsFull(w):
		return "etcd takes no writes although all voters are well"
	case keepsHollow(w):
		return "a member is not defragmented although all are well"
	default:
		return ""
	}
}

// lacksWrites says whether a quorum answers without writes that were acknowledged.
func (w *world) lacksWrites() bool {
	v := &w.view
	_, all := w.voters(healthy)
	if v.Restore.InPlace != "" {
		return false // they are not looked for any more
	}
	return w.missing && v.Unread == "" && all > 0 && v.Record.Revision > 0 && v.Record.Recovering == "" && v.Want.Size > 0
}

// risksWrites says whether a step changes which members have data, or stops one, while writes are
// missing: a member that still has them could be overwritten.
func (w *world) risksWrites(step plan.Step) bool {
	switch s := step.(type) {
	case plan.CreatePods, plan.UpdateImage, plan.ResizePod, plan.AddLearner, plan.Promote, plan.RemoveMember, plan.Quarantine,
		plan.DeleteVolume, plan.MoveLeader:
		return w.lacksWrites()
	case plan.DeletePods:
		return s.How != plan.AtOnce && w.lacksWrites()
	case plan.Record:
		return (s.Event == "NameReserved" || s.Event == "QuorumRecovering") && w.lacksWrites()
	}
	return false
}

// servesForeign says whether clients still reach a member whose data is not its own.
func servesForeign(w *world) bool {
	return len(w.view.Select(cluster.IsForeign, func(m cluster.Member) bool {
		return m.Pod.Ready && !m.Pod.IsDetached() && !m.Pod.IsTerminating()
	})) > 0
}

// stalls says whether a new cluster was to be forced from a member that could be started
// for that, and is not. Pods that are terminating for ever are no reason to wait.
func stalls(w *world) bool {
	name := w.view.Record.Recovering
	if name == "" || w.view.Want.Size == 0 {
		return false
	}
	f, survivor := w.fate(name), w.member(name)
	ending := w.view.Select(func(m cluster.Member) bool { return m.Pod.IsTerminating() && !m.Pod.Overdue })
	startable := f.data && !f.damaged && !f.silent && !f.unreachable && !f.nodeGone && survivor.Volume == cluster.Kept
	return startable && !survivor.Pod.Forced && len(ending) == 0
}

// keepsStranded says whether a member stays whose node is silent for too long or gone, although the
// others are a quorum without it.
func keepsStranded(w *world) bool {
	v := &w.view
	if v.Unread != "" || v.Record.Recovering != "" || v.Want.Size == 0 || w.cannotReturn() {
		return false
	}
	for _, m := range v.Select(cluster.IsListed, func(m cluster.Member) bool { return w.fate(m.Name).silent || w.fate(m.Name).nodeGone }) {
		if !m.Pod.Exists() && w.joinsLater() {
			continue // only a Pod that finds no node shows where its volume is
		}
		steady := v.Select(cluster.IsVoter, cluster.IsSteady, cluster.Except(m.Name))
		if quorum.Holds(len(steady), v.Count(cluster.IsVoter, cluster.Except(m.Name))) {
			return true
		}
	}
	return false
}

// joinsLater says whether no learner is started because a downgrade is enabled, which is cancelled
// when a voter on a silent node is back or given up.
func (w *world) joinsLater() bool {
	unreachable, _ := w.voters(func(m *cluster.Member) bool { return w.fate(m.Name).unreachable })
	return w.downgrade != "" && unreachable > 0
}

// keepsLost says whether a member stays whose data is gone, although the others are a quorum
// without it.
func keepsLost(w *world) bool {
	v := &w.view
	if v.Unread != "" || v.Record.Recovering != "" || v.Want.Size == 0 || len(v.Lost) > 0 || w.cannotReturn() {
		return false
	}
	for _, m := range v.Select(cluster.IsListed, cluster.IsLost) {
		steady := v.Select(cluster.IsVoter, cluster.IsSteady, cluster.Except(m.Name))
		if quorum.Holds(len(steady), v.Count(cluster.IsVoter, cluster.Except(m.Name))) {
			return true
		}
	}
	return false
}

// keepsOdd says whether a member stays whose data differs, although all hashes are known, and the
// others are a quorum without it.
func keepsOdd(w *world) bool {
	v := &w.view
	odd := v.Select(cluster.IsVoter, cluster.HasHashMismatch)
	good := v.Select(cluster.IsVoter, cluster.IsSteady, cluster.Not(cluster.HasHashMismatch))
	return len(odd) > 0 && v.Want.Size > 0 && !w.cannotReturn() && quorum.Holds(len(good), v.Count(cluster.IsVoter)-1)
}

// misleads says whether a Pod stays whose etcd can never join.
func misleads(w *world) bool {
	misled := w.view.Select(func(m cluster.Member) bool { return m.Pod.StalePeerList && !m.Pod.IsTerminating() })
	return len(misled) > 0 && w.view.Unread == "" && w.view.Want.Size > 0 && !w.cannotReturn()
}

// reopens says whether a container that restarts with no data could enter the cluster that
// its member has been in.
func reopens(w *world) bool {
	open := w.view.Select(cluster.IsVoter, cluster.HasPod, func(m cluster.Member) bool {
		f := w.fate(m.Name)
		return m.Pod.Entry == cluster.Forms || m.Pod.Entry == cluster.Joins && f.data && !f.silent && !f.unreachable && !m.Pod.IsTerminating()
	})
	return len(open) > 0 && w.view.Unread == "" && w.view.Want.Size > 0
}

// leavesUnchecked says whether a container that restarts beside a quorum that serves would start on any data.
func leavesUnchecked(w *world) bool {
	v := &w.view
	unchecked := v.Count(cluster.IsListed, cluster.HasPod, func(m cluster.Member) bool { return m.Pod.Unchecked && !m.Pod.IsTerminating() })
	return unchecked > 0 && v.Count(cluster.IsVoter) > 1 && v.Unread == "" && v.Want.Size > 0
}

// keepsHollow says whether a member stays fragmented although all are well and no drain is to be waited for.
func keepsHollow(w *world) bool {
	v := &w.view
	unwell := v.Count(cluster.IsListed, func(m cluster.Member) bool { return !cluster.IsSteady(m) || m.Pod.Cordoned })
	if v.Unread != "" || v.Record.Recovering != "" || v.Want.Size == 0 || unwell > 0 {
		return false
	}
	return v.Count(cluster.IsVoter, func(m cluster.Member) bool { return plan.Fragmented(*v, m) != "" }) > 0
}

// keepsFull says whether NOSPACE stays although a defragmentation would end it, and all voters are well: whatever else is waited for.
func keepsFull(w *world) bool {
	v := &w.view
	unwell := v.Count(cluster.IsVoter, func(m cluster.Member) bool { return !cluster.IsSteady(m) || m.Pod.IsDetached() || !m.Pod.Ready })
	stuck := v.Count(cluster.IsVoter, cluster.IsFull, cluster.Not(plan.IsHelped(*v))) > 0
	all := v.Count(cluster.IsVoter)
	return w.full && (all == 1 || quorum.Holds(all-1, all)) && v.Want.Heals && v.Unread == "" &&
		v.Record.Recovering == "" && v.Want.Size > 0 && unwell == 0 && !stuck && !w.cannotReturn()
}

// keepsOut says whether a member that is to join cannot, because of a downgrade that could
// be cancelled.
func keepsOut(w *world) bool {
	v := &w.view
	if w.downgrade == "" || v.Unread != "" || v.Record.Recovering != "" || v.Want.Size == 0 || w.cannotReturn() {
		return false
	}
	joining := v.Select(cluster.IsLearner, func(m cluster.Member) bool { return !w.fate(m.Name).data })
	down := v.Select(cluster.IsVoter, cluster.Not(cluster.IsHealthy))
	return len(joining) > 0 && len(down) == 0
}

// keepsExchanged: nothing is left to do, and a member is left whose place another one is to take.
func keepsExchanged(w *world) bool {
	step, _ := plan.Next(w.view)
	return step == plan.Done{} && plan.Exchanges(w.view)
}
