package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/quorum"
)

// shrink removes the voters that are missed least: those that are away, then outdated, then
// on their way out, then newest. Leadership goes to one that stays, once, and clients leave
// all of them at the same time; etcd strikes them one after the other.
func shrink(v cluster.View) Step {
	leavers := leaving(v)
	if len(leavers) == 0 {
		return nil
	}
	stay := v.Select(cluster.IsVoter, cluster.Except(leavers...))
	serving := v.Select(cluster.IsVoter, cluster.IsServing, cluster.Except(leavers...))
	if !quorum.Holds(len(serving), len(stay)) {
		return Wait{For: fmt.Sprintf("more voters to be ready before %s leaves: %d of %d would serve", leavers[0], len(serving), len(stay))}
	}
	if step := awaitSteady(v, "members leave", leavers...); step != nil {
		return step
	}
	if leader, _ := v.Leader(); slices.Contains(leavers, leader.Name) && !sendsAhead(v, leader, leavers) {
		return handOver(v, leader, leavers...)
	}
	if step := dismiss(v, leavers); step != nil {
		return step
	}
	for _, name := range leavers {
		m, _ := v.Member(name)
		if step := withdraw(m); step != nil {
			return step
		}
	}
	first, _ := v.Member(leavers[0])
	if step := vacate(v, first); step != nil {
		return step
	}
	return remove(v, first, fmt.Sprintf("the size is %d", v.Want.Size))
}

// sendsAhead says whether a leader that leaves lets others leave before it, because those that
// stay are unwilling to.
func sendsAhead(v cluster.View, leader cluster.Member, leavers []string) bool {
	willing := v.Select(cluster.IsVoter, cluster.AcceptsReconfig, cluster.Except(leavers...))
	return leader.Name != leavers[0] && cluster.AcceptsReconfig(leader) && len(willing) == 0
}

// dismiss tells the Pods of members that leave to end before etcd strikes them: the second
// for which they linger is the one in which clients leave. All other voters must be a
// quorum without them, because nothing calls them back, also if a cordoned node is drained now;
// and their data must outlive their Pods.
func dismiss(v cluster.View, leavers []string) Step {
	var pods []PodRef
	voters := v.Select(cluster.IsVoter)
	for _, name := range leavers {
		m, _ := v.Member(name)
		keeps := m.Volume == cluster.Kept && !v.Want.Ephemeral
		others := v.Select(cluster.IsSteady, cluster.IsVoter, cluster.Not(cluster.IsCordoned), cluster.Except(append(Names(pods), name)...))
		if cluster.IsSteady(m) && m.Pod.Lingers && keeps && quorum.Holds(len(others), len(voters)) {
			pods = append(pods, refOf(m))
		}
	}
	if len(pods) == 0 {
		return nil
	}
	return DeletePods{pods, Detached, fmt.Sprintf("the size is %d", v.Want.Size)}
}

// strikeAway removes a voter that is too many and does not run: nobody waits for it to come
// back, and quorum can only gain.
func strikeAway(v cluster.View) Step {
	for _, name := range leaving(v) {
		if m, _ := v.Member(name); cluster.IsAway(m) {
			return remove(v, m, fmt.Sprintf("the size is %d", v.Want.Size))
		}
	}
	return nil
}

// leaving names the voters that are too many, in the order in which they leave.
func leaving(v cluster.View) []string {
	voters := v.Select(cluster.IsVoter)
	surplus := len(voters) - v.Want.Size
	if surplus <= 0 {
		return nil
	}
	slices.SortFunc(voters, func(a, b cluster.Member) int { return missedLess(v.Name, a, b) })
	names := make([]string, 0, surplus)
	for _, m := range voters[:surplus] {
		names = append(names, m.Name)
	}
	return names
}

func missedLess(name string, a, b cluster.Member) int {
	return cmp.Or(
		last(cluster.IsAway(b), cluster.IsAway(a)),
		last(cluster.IsSuperseded(b), cluster.IsSuperseded(a)),
		last(cluster.IsDisturbed(b), cluster.IsDisturbed(a)),
		cluster.Serial(name, b.Name)-cluster.Serial(name, a.Name),
	)
}
