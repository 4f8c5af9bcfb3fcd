package plan

import (
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/quorum"
)

// roll restarts one outdated member at a time, the leader last and only after an
// updated member leads. Every voter is healthy when it is reached. Members with
// ephemeral data are replaced by grow and shrink instead.
func roll(v cluster.View) Step {
	if v.Want.Ephemeral {
		return nil
	}
	outdated := v.Select(cluster.IsListed, cluster.IsOutdated)
	if len(outdated) == 0 {
		return nil
	}
	for _, m := range outdated {
		if !m.Leader {
			return restart(v, m)
		}
	}
	leader := outdated[0]
	if len(v.Select(cluster.IsVoter)) == 1 {
		return restart(v, leader) // nobody can take over: a short outage is the only way
	}
	return handOver(v, leader)
}

// restart judges the voters that go on serving before it stops one.
func restart(v cluster.View, m cluster.Member) Step {
	if m.Pod.Terminating {
		return Wait{For: "pod " + m.Name + " to be gone"}
	}
	voters := v.Select(cluster.IsVoter)
	up := v.Select(cluster.IsVoter, cluster.IsServing, func(o cluster.Member) bool { return o.Name != m.Name })
	if len(voters) > 1 && !quorum.Holds(len(up), len(voters)) {
		return Wait{For: fmt.Sprintf("more voters to be ready before %s restarts: %d of %d would serve", m.Name, len(up), len(voters))}
	}
	return Stop{m.Name, m.Pod.UID, "the spec has changed"}
}
