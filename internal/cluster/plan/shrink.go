// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// shrink removes surplus voters: first those that do not run, then one that is slow or that another one replaces, then outdated ones,
// then those whose Pod ends or whose node is cordoned, then the newest. Leadership moves once, to a member that stays. All
// surplus members are detached at the same time; etcd removes them one after the other.
func shrink(v cluster.View) Step {
	leavers := leaving(v)
	if len(leavers) == 0 {
		return nil
	}
	if serving, stay := v.Votes(leavers, cluster.IsServing); !quorum.Holds(serving, stay) {
		return Wait{For: fmt.Sprintf("more voters to be ready before %s leaves: %d of %d would serve", leavers[0], serving, stay)}
	}
	if step := awaitSteady(v, "members leave", leavers...); step != nil {
		return step
	}
	if leader, _ := v.Leader(); slices.Contains(leavers, leader.Name) && !leavesLater(v, leader, leavers) {
		return handOver(v, leader, leavers...)
	}
	if step := detachAndDelete(v, leavers); step != nil {
		return step
	}
	for _, name := range leavers {
		m, _ := v.Member(name)
		if step := detach(m); step != nil {
			return step
		}
	}
	first, _ := v.Member(leavers[0])
	if step := detachAndWait(v, first); step != nil {
		return step
	}
	return remove(v, first, whyLeave(v, first))
}

// whyLeave says why a voter leaves that is well.
func whyLeave(v cluster.View, m cluster.Member) string {
	if isOutworn(v)(m) {
		return "another one has taken its place: " + v.Record.Replacing.Why
	}
	if cluster.IsExchanged(m) {
		return "another one has taken its place: " + m.Exchange
	}
	return fmt.Sprintf("the size is %d", v.Want.Size)
}

// leavesLater says whether a surplus leader first removes the other surplus members, because the members that
// stay refuse reconfiguration.
func leavesLater(v cluster.View, leader cluster.Member, leavers []string) bool {
	accepting := v.Select(cluster.IsVoter, cluster.AcceptsReconfig, cluster.Except(leavers...))
	return leader.Name != leavers[0] && cluster.AcceptsReconfig(leader) && len(accepting) == 0
}

// detachAndDelete deletes the Pods of surplus members before etcd removes the members: clients leave in the
// second for which a Pod lingers. All other voters must be a
// quorum without them, also if a cordoned node is drained now, because a deletion cannot be undone;
// and their data must outlive their Pods.
func detachAndDelete(v cluster.View, leavers []string) Step {
	var pods []PodRef
	for _, name := range leavers {
		m, _ := v.Member(name)
		keeps := m.Volume == cluster.Kept && !v.Want.Ephemeral
		others, voters := v.Votes(nil, cluster.IsSteady, cluster.Not(cluster.IsCordoned), cluster.Except(append(Names(pods), name)...))
		if cluster.IsSteady(m) && m.Pod.Lingers && keeps && quorum.Holds(others, voters) {
			pods = append(pods, refOf(m))
		}
	}
	if len(pods) == 0 {
		return nil
	}
	first, _ := v.Member(pods[0].Name)
	return DeletePods{pods, Detached, whyLeave(v, first)}
}

// There is no need to wait until a surplus voter is back, and quorum can only gain.
func removeUnreachable(v cluster.View) Step {
	for _, name := range leaving(v) {
		if m, _ := v.Member(name); cluster.IsAway(m) {
			return remove(v, m, whyLeave(v, m))
		}
	}
	return nil
}

// leaving names the surplus voters, in the order in which they are removed.
func leaving(v cluster.View) []string {
	voters := v.Select(cluster.IsVoter)
	surplus := len(voters) - v.Want.Size
	if surplus <= 0 {
		return nil
	}
	slices.SortFunc(voters, func(a, b cluster.Member) int { return removalOrder(v, a, b) })
	names := make([]string, 0, surplus)
	for _, m := range voters[:surplus] {
		names = append(names, m.Name)
	}
	return names
}

func removalOrder(v cluster.View, a, b cluster.Member) int {
	return cmp.Or(
		last(cluster.IsAway(b), cluster.IsAway(a)),
		last(isOutworn(v)(b), isOutworn(v)(a)),
		last(cluster.IsExchanged(b), cluster.IsExchanged(a)),
		last(cluster.IsExchanged(a) && a.Leader, cluster.IsExchanged(b) && b.Leader),
		last(cluster.IsSuperseded(b), cluster.IsSuperseded(a)),
		last(cluster.IsDisturbed(b), cluster.IsDisturbed(a)),
		cluster.Serial(v.Name, b.Name)-cluster.Serial(v.Name, a.Name),
	)
}
