// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// moveLeader moves leadership away from a Pod that is being deleted or evicted, or whose
// node is cordoned and about to be drained: a move takes a moment, an election
// a second and more. Leadership does not go to a member that is about to be restarted or
// removed. It does not leave a cordoned node for a member that refuses reconfiguration: it would be moved
// back. Among equals it goes to the youngest Pod: if one node after the other is drained, that Pod's node
// was drained already. On a cordoned node it waits for a voter that is not far behind; a Pod that ends cannot
// wait.
func moveLeader(v cluster.View) Step {
	leader, led := v.Leader()
	if !led || !cluster.IsDisturbed(leader) || v.NotRoot != "" {
		return nil
	}
	heirs := v.Select(cluster.IsVoter, cluster.IsServing, cluster.Not(cluster.IsDisturbed), cluster.Except(leader.Name),
		cluster.Except(leaving(v)...), cluster.Not(isSuspect(v)),
		func(m cluster.Member) bool { return leader.Pod.IsTerminating() || isNear(m) },
		func(m cluster.Member) bool {
			return leader.Pod.IsTerminating() || !cluster.IsOutdated(m) || !isToMakeRoom(v)(m)
		},
		func(m cluster.Member) bool {
			return leader.Pod.IsTerminating() || !m.RefusesReconfig && (cluster.IsOutdated(leader) || !cluster.IsOutdated(m))
		})
	if len(heirs) == 0 {
		return nil
	}
	slices.SortStableFunc(heirs, func(a, b cluster.Member) int { return cmp.Compare(b.Pod.Made, a.Pod.Made) })
	return MoveLeader{leader.Name, best(heirs).Name}
}

// leaveSlow moves leadership away from a member that is slower than its peers and than it was, to one that is not: what clients write waits
// for the leader's disk. It does so once in ten minutes at most, and not to a member that is about to restart for a
// change: leadership would be moved back.
func leaveSlow(v cluster.View) Step {
	leader, led := v.Leader()
	if !led || !leader.Sluggish || v.Relieved || v.NotRoot != "" {
		return nil
	}
	heirs := v.Select(cluster.IsVoter, cluster.IsServing, cluster.Not(cluster.IsSluggish), cluster.Not(cluster.IsDisturbed),
		cluster.AcceptsReconfig, cluster.Not(isSuspect(v)), cluster.Except(leaving(v)...), isNear,
		func(m cluster.Member) bool { return cluster.IsUpdated(m) && !m.Pod.OldCABundle })
	if len(heirs) == 0 {
		return nil
	}
	return MoveLeader{leader.Name, best(heirs).Name}
}

// handOver moves leadership to a healthy voter before the leader is disturbed, and not to a member
// that is about to leave. It waits for a voter that is not far behind: until the next leader has
// every entry, the leader drops what clients write.
func handOver(v cluster.View, from cluster.Member, leaving ...string) Step {
	heirs := v.Select(cluster.IsVoter, cluster.IsSteady, cluster.Except(from.Name), cluster.Except(leaving...))
	if len(heirs) == 0 {
		return Wait{For: "a healthy voter to take over leadership from " + from.Name, Look: Soon}
	}
	if heirs = slices.DeleteFunc(heirs, cluster.Not(isNear)); len(heirs) == 0 {
		return Wait{For: "a voter that is not far behind to take over leadership from " + from.Name, Look: Soon}
	}
	return MoveLeader{from.Name, best(heirs).Name}
}

// askAnother moves leadership away from a leader that refuses to let members join or leave, to
// a voter that may accept it, and passes if there is none. Each leader judges by its own connections, and
// may take a voter for disconnected that is not (docs/adr/0022).
func askAnother(v cluster.View, leaving ...string) Step {
	leader, led := v.Leader()
	if !led || !leader.RefusesReconfig {
		return nil
	}
	heirs := v.Select(cluster.IsVoter, cluster.IsSteady, cluster.AcceptsReconfig, cluster.Not(cluster.HasHashMismatch),
		cluster.Except(leaving...))
	if len(heirs) == 0 {
		return nil
	}
	return MoveLeader{leader.Name, best(heirs).Name}
}

// best is the voter that keeps leadership longest and takes it over fastest: it will not
// be disturbed soon, and is not behind.
func best(heirs []cluster.Member) cluster.Member {
	return slices.MinFunc(heirs, func(a, b cluster.Member) int {
		return cmp.Or(
			last(cluster.IsDisturbed(a), cluster.IsDisturbed(b)),
			last(a.Sluggish, b.Sluggish),
			last(a.RefusesReconfig, b.RefusesReconfig),
			last(!a.Pod.Ready, !b.Pod.Ready),
			cmp.Compare(a.Behind/noticeable, b.Behind/noticeable),
			last(cluster.IsOutdated(a), cluster.IsOutdated(b)),
		)
	})
}

// noticeable is by how many entries a member is behind when its disk is slow. Fewer are
// explained by the time between the answers of two members.
const noticeable = 64

// farBehind is by how many entries a member is behind if it needs noticeably long to catch up with the
// leader: at 10,000 writes a second, the most that etcd takes, a twentieth of a
// second. Meanwhile raft drops every proposal (leadTransferee in its raft.go), for an
// election timeout at most. After that the leader stays the leader.
const farBehind = 500

func isNear(m cluster.Member) bool { return m.Behind < farBehind }

// last sorts what is true after what is false.
func last(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}
