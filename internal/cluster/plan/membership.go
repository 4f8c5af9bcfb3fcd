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

func readEtcd(v cluster.View) Step {
	if v.Unread == "" {
		return nil
	}
	if v.Split != "" {
		return refuse(v.Split + "; nothing is changed, because either side may have writes that the other lacks: set spec.size to 0, " +
			"copy the volumes of both sides, compare their data, and bring back those of one side")
	}
	if step := beyondRepair(v); step != nil {
		return step
	}
	if v.Locked {
		return refuse(v.Unread + ", which the operator does not support without TLS; " +
			"run etcdctl auth disable as the user root")
	}
	return Wait{For: "etcd to answer: " + v.Unread + othersVote(v), Look: soonIf(v.Fresh)}
}

// keepQuorum counts unknown voters as healthy, because a quorum has just answered: no quorum is lost for good here.
func keepQuorum(v cluster.View) Step {
	voters := v.Count(cluster.IsVoter) + v.UnknownVoters()
	healthy := v.Count(cluster.IsVoter, cluster.IsHealthy) + v.UnknownVoters()
	if quorum.Holds(healthy, voters) {
		return nil
	}
	return Wait{
		For:  fmt.Sprintf("a quorum: %d of %d voters are healthy, %d are needed", healthy, voters, quorum.Size(voters)),
		Look: soonIf(v.Fresh),
	}
}

func reportUnknown(v cluster.View) Step {
	unknown := slices.DeleteFunc(slices.Clone(v.Unknown), func(m cluster.UnknownMember) bool { return m.Source })
	if len(unknown) == 0 {
		return nil
	}
	s := unknown[0]
	return refuse(fmt.Sprintf("etcd lists an unknown member: ID %x, name %q, peer URL %s; "+
		"the membership is not changed until it is removed with etcdctl member remove %x", s.ID, s.Name, s.PeerURL, s.ID))
}

// replaceLost leaves it to grow to add a successor under a new name. The removal comes first, so that the quorum
// never rises while a member is down.
func replaceLost(v cluster.View) Step {
	for _, m := range v.Select(cluster.IsListed) {
		switch {
		case cluster.IsLost(m) && m.Answers:
			return Wait{For: "pod " + m.Name + " to be gone"}
		case cluster.IsLost(m): // also while its Pod is still there: it never runs again
			return remove(v, m, "its data is lost")
		case cluster.IsBeyondRepair(m):
			return remove(v, m, m.Damage)
		case cluster.IsForeign(m):
			return remove(v, m, m.Foreign)
		case cluster.IsGivenUp(m):
			return remove(v, m, m.Exchange)
		case m.NodeUnreachable != "" && !m.Answers:
			return remove(v, m, m.NodeUnreachable)
		case cluster.IsMissing(m):
			return remove(v, m, m.NodeGone)
		}
	}
	return nil
}

// remove judges the membership as it is after the removal.
func remove(v cluster.View, m cluster.Member, because string) Step {
	healthy, all := v.Votes([]string{m.Name}, cluster.IsSteady, cluster.Not(cluster.HasHashMismatch))
	if !quorum.Holds(healthy, all) {
		return Wait{
			For: fmt.Sprintf("more healthy voters before %s is removed (%s): %d of %d would be healthy without it",
				m.Name, because, healthy, all),
			Look: soonIf(v.Fresh),
		}
	}
	others := append(leaving(v), m.Name)
	return cmp.Or(askAnother(v, others...), askAnother(v, m.Name), Step(RemoveMember{m.Name, because}))
}

func finishLearner(v cluster.View) Step {
	for _, m := range v.Select(cluster.IsLearner) {
		switch {
		case isSurplus(v, m):
			return remove(v, m, "it is no longer needed")
		case neverStarted(v, m) && v.DowngradeTarget != "":
			return cancelToJoin(v, m)
		case neverStarted(v, m) && m.Pod.Denied.Stands():
			return Wait{For: "learner " + m.Name + " to start" + why(m)}
		case neverStarted(v, m) && !m.Pod.Exists():
			return startNew(v, m)
		case m.Synced:
			return promote(v, m)
		case m.Pod.Failing && !m.Started:
			return Wait{For: "learner " + m.Name + " to start" + why(m) + "; fix that, or correct the spec"}
		default:
			what := " to catch up"
			if !m.Answers {
				what = " to answer"
			}
			return Wait{For: "learner " + m.Name + what + why(m) + beside(v, m), Look: soonIf(v.Fresh || m.Answers)}
		}
	}
	return nil
}

// cancelToJoin cancels a downgrade that is enabled: meanwhile etcd lets no member join unless its version
// is lower still than the cluster's (allowedVersionRange in its cluster_util.go). If a member went
// down already, it keeps the cluster at that version, and the others follow when the cluster is complete. If none
// did, the downgrade is enabled again.
func cancelToJoin(v cluster.View, m cluster.Member) Step {
	return cmp.Or(awaitHealth(v), Step(Downgrade{Because: "etcd lets " + m.Name + " join only then"}))
}

// startNew starts a member that has no data yet. Its volume may need the room that expired volumes
// take in a quota, so these are deleted first.
func startNew(v cluster.View, m cluster.Member) Step {
	down := v.Select(cluster.IsVoter, cluster.Not(cluster.IsHealthy))
	if old := deleteExpired(v); old != nil && len(down) == 0 && m.Volume == cluster.NoVolume {
		return old
	}
	return CreatePods{Names: []string{m.Name}}
}

// promote judges the voters as they are after the promotion. They must be a
// quorum even if the new one is down, and no Pod may be evicted that this quorum needs. Two voters
// need each other: then the learner must be well, and its node not about to be drained.
func promote(v cluster.View, m cluster.Member) Step {
	steady, voters := v.Votes(nil, cluster.IsSteady)
	alone := voters == 1
	switch {
	case !cluster.IsSteady(m) || alone && cluster.IsDisturbed(m):
		return Wait{For: "learner " + m.Name + " to be safe before it votes: " + danger(m), Look: soonIf(v.Fresh)}
	case alone && steady == 1, quorum.Holds(steady, voters+1):
		return cmp.Or(ensureBudget(v), Step(Promote{m.Name}))
	default:
		return Wait{
			For: fmt.Sprintf("more healthy voters before %s votes: %d of %d would be healthy without it",
				m.Name, steady, voters+1),
			Look: soonIf(v.Fresh),
		}
	}
}

// danger is what may soon end a learner that has caught up.
func danger(m cluster.Member) string {
	switch {
	case m.Pod.IsTerminating():
		return "its pod is being deleted"
	case m.Pod.Cordoned:
		return "its node takes no new pods and may be drained"
	case m.Pod.RecentlyRestarted:
		return "its container has just failed"
	default:
		return "its container is about to restart"
	}
}

func awaitHealth(v cluster.View) Step {
	for _, m := range v.Select(cluster.IsVoter, cluster.Not(cluster.IsHealthy)) {
		return Wait{For: m.Name + " to become healthy" + why(m), Look: soonIf(v.Fresh)}
	}
	for _, m := range v.Select(cluster.IsVoter, func(m cluster.Member) bool { return m.Pod.Settling }) {
		return Wait{For: m.Name + " to restart with its new image" + why(m), Look: soonIf(v.Fresh)}
	}
	return nil
}

// why says what keeps a member from what the plan waits for, if that is known.
func why(m cluster.Member) string {
	switch {
	case m.Pod.Denied.Stands():
		return ": Kubernetes refuses its pod: " + m.Pod.Denied.Because
	case m.Pod.Trouble != "":
		return ": " + m.Pod.Trouble
	case m.Silence() != "":
		return ": " + m.Silence() + "; it is replaced when that has lasted for spec.recovery.memberTimeout"
	default:
		return ""
	}
}

// target is how many voters to have now: one more than wanted while Pods with
// ephemeral data must be created again, because their members are replaced and never restarted, or while one
// is replaced that is well or stays slow. No further member is replaced if the image is known to hold another version.
func target(v cluster.View) int {
	if v.Want.Ephemeral && v.Target.Misnamed == "" && v.Count(cluster.IsVoter, cluster.IsSuperseded) > 0 {
		return v.Want.Size + 1
	}
	if v.Count(cluster.IsVoter, isOutworn(v)) > 0 || exchanges(v) {
		return v.Want.Size + 1
	}
	return v.Want.Size
}

// exchanges says whether another member is to take the place of a voter, and nothing goes on that this has to wait for.
func exchanges(v cluster.View) bool {
	return v.Want.Size > 0 && v.Count(cluster.IsVoter, cluster.IsExchanged) > 0 && v.DowngradeTarget == "" && len(v.Alarms) == 0 &&
		v.Record.Defragmenting.Member == "" && v.Target.Misnamed == "" && !v.Adoption.Wanted
}

// isBusy says whether something else goes on that a change by the operator itself has to wait for.
func isBusy(v cluster.View) bool {
	return v.Record.Defragmenting.Member != "" || len(v.Alarms) > 0 || v.Count(cluster.IsListed, cluster.IsOutdated) > 0
}

func grow(v cluster.View) Step {
	if v.Count(cluster.IsVoter)+becoming(v) >= target(v) {
		return nil
	}
	if step := awaitSources(v); step != nil {
		return step
	}
	if v.Record.Joining != "" {
		return cmp.Or(askAnother(v), Step(AddLearner{v.Record.Joining}))
	}
	return ReserveName(v, cluster.MemberName(v.Name, nextSerial(v)))
}

// nextSerial is above every serial that was ever recorded or is seen now.
func nextSerial(v cluster.View) int {
	next := v.Record.NextSerial
	for _, m := range v.Members {
		next = max(next, cluster.Serial(v.Name, m.Name)+1)
	}
	return next
}
