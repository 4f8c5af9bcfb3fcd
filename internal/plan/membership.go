package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/quorum"
)

// readEtcd never guesses: without a list that a quorum agrees on, nothing about
// the membership is decided.
func readEtcd(v cluster.View) Step {
	if v.Unread == "" {
		return nil
	}
	if step := beyondRepair(v); step != nil {
		return step
	}
	return Wait{For: "etcd to answer: " + v.Unread, Look: soonIf(v.Fresh)}
}

// beyondRepair tells a lasting loss of quorum from one that passes: too many
// voters have lost their data for the rest to ever be a majority.
func beyondRepair(v cluster.View) Step {
	voters := v.Select(cluster.IsVoter)
	lost := v.Select(cluster.IsVoter, cluster.IsLost)
	if len(lost) == 0 || quorum.Holds(len(voters)-len(lost), len(voters)) {
		return nil
	}
	return Refuse{fmt.Sprintf("quorum is lost: the data of %s is gone, %d of %d voters are left and %d must agree; "+
		"restore the cluster from a backup", list(cluster.Names(lost)), len(voters)-len(lost), len(voters), quorum.Size(len(voters)))}
}

// keepQuorum lets nothing change while fewer voters than a quorum are healthy.
func keepQuorum(v cluster.View) Step {
	voters := v.Select(cluster.IsVoter)
	healthy := v.Select(cluster.IsVoter, cluster.IsHealthy)
	if quorum.Holds(len(healthy), len(voters)) {
		return nil
	}
	if step := beyondRepair(v); step != nil {
		return step
	}
	return Wait{
		For:  fmt.Sprintf("a quorum: %d of %d voters are healthy, %d are needed", len(healthy), len(voters), quorum.Size(len(voters))),
		Look: soonIf(v.Fresh),
	}
}

// nameStrays reports members that somebody else added. They are never removed
// silently, and nothing else changes the membership beside them.
func nameStrays(v cluster.View) Step {
	if len(v.Strays) == 0 {
		return nil
	}
	s := v.Strays[0]
	return Refuse{fmt.Sprintf("etcd lists a member that is not ours: ID %x, name %q, peer URL %s; "+
		"remove it with etcdctl member remove %x", s.ID, s.Name, s.PeerURL, s.ID)}
}

// replaceLost strikes one member whose data is gone; grow then adds its successor
// under a new name. Removal comes first, so quorum never rises while one is down.
func replaceLost(v cluster.View) Step {
	lost := v.Select(cluster.IsListed, cluster.IsLost)
	if len(lost) == 0 {
		return nil
	}
	if lost[0].Pod.Exists {
		return Wait{For: "pod " + lost[0].Name + " to be gone"}
	}
	return remove(v, lost[0], "its data is lost")
}

// remove judges the membership after the removal before it proposes it.
func remove(v cluster.View, m cluster.Member, because string) Step {
	others := func(o cluster.Member) bool { return o.Name != m.Name }
	voters := v.Select(cluster.IsVoter, others)
	healthy := v.Select(cluster.IsVoter, cluster.IsHealthy, others)
	if !quorum.Holds(len(healthy), len(voters)) {
		return Wait{
			For: fmt.Sprintf("more healthy voters before %s is removed (%s): %d of %d would be healthy without it",
				m.Name, because, len(healthy), len(voters)),
			Look: soonIf(v.Fresh),
		}
	}
	return Remove{m.Name, because}
}

// finishLearner ends one membership change before the next begins.
func finishLearner(v cluster.View) Step {
	for _, m := range v.Select(cluster.IsLearner) {
		switch {
		case len(v.Select(cluster.IsVoter)) >= target(v):
			return remove(v, m, "it is no longer needed")
		case m.Synced:
			return Promote{m.Name}
		default:
			return Wait{For: "learner " + m.Name + " to catch up" + why(m), Look: soonIf(v.Fresh || m.Answers)}
		}
	}
	return nil
}

// awaitHealth holds back every change that is not a repair until all voters are
// healthy.
func awaitHealth(v cluster.View) Step {
	for _, m := range v.Select(cluster.IsVoter, cluster.Not(cluster.IsHealthy)) {
		return Wait{For: m.Name + " to become healthy" + why(m), Look: soonIf(v.Fresh)}
	}
	return nil
}

func why(m cluster.Member) string {
	if m.Pod.Trouble == "" {
		return ""
	}
	return ": " + m.Pod.Trouble
}

// target is how many voters to have now: one more than wanted while members with
// ephemeral data are rolled, because those are replaced and never restarted.
func target(v cluster.View) int {
	if v.Want.Ephemeral && len(v.Select(cluster.IsVoter, cluster.IsOutdated)) > 0 {
		return v.Want.Size + 1
	}
	return v.Want.Size
}

// grow adds one learner under a name that was never used.
func grow(v cluster.View) Step {
	if len(v.Select(cluster.IsVoter)) >= target(v) {
		return nil
	}
	if v.Record.Joining != "" {
		return AddLearner{v.Record.Joining}
	}
	return Reserve{cluster.MemberName(v.Name, nextSerial(v))}
}

// nextSerial is above every serial that was ever recorded or is seen now.
func nextSerial(v cluster.View) int {
	next := v.Record.NextSerial
	for _, m := range v.Members {
		next = max(next, cluster.Serial(v.Name, m.Name)+1)
	}
	return next
}

// shrink removes the voter that is missed least: outdated, then newest, and the
// leader only after another one leads.
func shrink(v cluster.View) Step {
	voters := v.Select(cluster.IsVoter)
	if len(voters) <= v.Want.Size {
		return nil
	}
	slices.SortStableFunc(voters, func(a, b cluster.Member) int {
		return missedLess(v.Name, a, b)
	})
	victim := voters[0]
	serving := v.Select(cluster.IsVoter, cluster.IsServing, func(m cluster.Member) bool { return m.Name != victim.Name })
	if !quorum.Holds(len(serving), len(voters)-1) {
		return Wait{For: fmt.Sprintf("more voters to be ready before %s leaves: %d of %d would serve", victim.Name, len(serving), len(voters)-1)}
	}
	if victim.Leader {
		return handOver(v, victim)
	}
	return remove(v, victim, fmt.Sprintf("the size is %d", v.Want.Size))
}

func missedLess(name string, a, b cluster.Member) int {
	if cluster.IsOutdated(a) != cluster.IsOutdated(b) {
		return first(cluster.IsOutdated(a))
	}
	return cluster.Serial(name, b.Name) - cluster.Serial(name, a.Name)
}

func first(yes bool) int {
	if yes {
		return -1
	}
	return 1
}

// handOver moves leadership to a healthy voter, best to one that will not be
// disturbed itself soon.
func handOver(v cluster.View, from cluster.Member) Step {
	heirs := v.Select(cluster.IsVoter, cluster.IsHealthy, func(m cluster.Member) bool {
		return m.Name != from.Name && !m.Pod.Terminating
	})
	if len(heirs) == 0 {
		return Wait{For: "a healthy voter to take leadership over from " + from.Name, Look: Soon}
	}
	for _, m := range heirs {
		if !m.Pod.Outdated {
			return MoveLeader{from.Name, m.Name}
		}
	}
	return MoveLeader{from.Name, heirs[0].Name}
}
