// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/etcd-operator/etcd-operator/internal/cluster/quorum"

// MustStay is how many Pods of members must stay (minAvailable of the disruption budget), so that a
// quorum of voters is left when all others are evicted. It holds now, and after the next change of the
// membership, which the disruption budget follows a moment later.
//
// Kubernetes counts every Pod that is ready, also one that does not vote. So one that is no voter
// of ours counts in full: a learner that will be one, what is left of a member that was
// one, one with data that is not its own, one that serves beside the members before it replaces them. Unknown voters may be down.
func (v View) MustStay() int {
	voters := v.Voters()
	stay := staying(voters, v.UnknownVoters())
	if v.Want.Size > 0 && v.countedLeavers() > 0 || v.Count(IsVoter, IsSuperseded, func(m Member) bool { return m.Volume != Kept }) > 0 {
		stay = max(stay, staying(voters-1, v.UnknownVoters())+1) // the next one to leave, too
	}
	guests := v.Count(isGuest) + View{Members: v.Beside}.Count(isGuest)
	return stay + guests*min(1, v.Count(IsVoter))
}

// countedLeavers is how many of the voters that are too many Kubernetes may still count. Those
// whose Pods are being deleted leave first.
func (v View) countedLeavers() int {
	uncounted := v.Count(IsVoter, Not(isCounted))
	return v.Voters() - v.Want.Size - uncounted
}

// ServesWithout says whether voters other than that member serve, and are a quorum that stays: each has answered a linearizable read, and
// its Pod is not being deleted.
func (v View) ServesWithout(member string) bool {
	stays := func(m Member) bool { return m.Healthy && !m.Pod.IsTerminating() }
	return quorum.Holds(v.Votes(nil, stays, Except(member)))
}

func staying(voters, unknown int) int { return min(voters, quorum.Size(voters+unknown)) }

// isCounted says whether Kubernetes may count the member's Pod as one that is well.
func isCounted(m Member) bool {
	return HasPod(m) && !m.Pod.IsTerminating() && (m.Pod.Phase == Running || m.Pod.Ready)
}

// isGuest says whether Kubernetes may count the member's Pod, although no quorum can be made
// with it.
func isGuest(m Member) bool { return isCounted(m) && (!IsVoter(m) || IsForeign(m)) }
