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

// QuorumLoss describes the voters of a cluster whose quorum is lost for good: too many have
// lost their data, or are missing with it, for the rest to ever be a majority. Every known voter is in one of
// the three lists. Voters that are only down or unreachable are survivors; unknown voters are in no list.
type QuorumLoss struct {
	Lost      []cluster.Member // their data is gone or cannot be used
	Missing   []cluster.Member // their nodes no longer exist: only a person may accept that they are lost
	Survivors []cluster.Member
	Voters    int // more than in the lists if only the data of a survivor names others
}

// Lasting returns the loss of quorum, and whether it is for good: the survivors and the unknown voters
// are no majority of all voters.
func Lasting(v cluster.View) (QuorumLoss, bool) {
	if v.Unproven() && v.Count(cluster.IsListed) == 0 {
		return lastingUnproven(v)
	}
	loss := lossOf(v.Select(cluster.IsVoter))
	return loss, loss.lasts(v.UnknownVoters())
}

func lossOf(voters []cluster.Member) QuorumLoss {
	loss := QuorumLoss{Voters: len(voters)}
	for _, m := range voters {
		switch {
		case cluster.IsBeyondRepair(m):
			loss.Lost = append(loss.Lost, m)
		case cluster.IsMissing(m):
			loss.Missing = append(loss.Missing, m)
		default:
			loss.Survivors = append(loss.Survivors, m)
		}
	}
	return loss
}

func (l QuorumLoss) lasts(unknown int) bool {
	return l.Voters > len(l.Survivors) && !quorum.Holds(len(l.Survivors)+unknown, l.Voters+unknown)
}

// Proposal is the loss of data if the cluster goes on from the best survivor. There is none before every
// survivor has reported what data it has, and none while the data of a survivor goes with its
// Pod, which must be deleted first.
func (l QuorumLoss) Proposal() (cluster.Loss, bool) {
	if len(l.Survivors) == 0 || l.silent().Name != "" || len(l.deletedVolumes()) > 0 {
		return cluster.Loss{}, false
	}
	best := l.best()
	return cluster.Loss{Survivor: best.Name, Revision: best.Revision}, true
}

// best is the survivor that knows most entries to be committed, because etcd drops all
// others when it forces a new cluster.
func (l QuorumLoss) best() cluster.Member {
	if len(l.Survivors) == 0 {
		return cluster.Member{}
	}
	return slices.MaxFunc(l.Survivors, func(a, b cluster.Member) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Revision, b.Revision))
	})
}

// isProven says whether the operator may go on from the best survivor by itself: no
// missing member may have newer data, or still run, and the numbers by which the best of several is
// chosen were read over TLS.
func (l QuorumLoss) isProven() bool {
	unsigned := func(m cluster.Member) bool { return m.Unsigned }
	return len(l.Missing) == 0 && (len(l.Survivors) == 1 || !slices.ContainsFunc(l.Survivors, unsigned))
}

// why says what is lost, and what is only missing.
func (l QuorumLoss) why() string {
	if len(l.Missing) == 0 {
		return "quorum is lost for good: " + l.gone()
	}
	missing := fmt.Sprintf("quorum is lost: %s cannot start, because the nodes of their volumes no longer exist; "+
		"their machines may still run etcd and have newer data", list(cluster.Names(l.Missing)))
	if l.Voters > len(l.Survivors)+len(l.Missing) {
		missing += "; " + l.gone()
	}
	return missing
}

// unless says what a person can do instead of accepting the loss.
func (l QuorumLoss) unless() string {
	if len(l.Missing) > 0 {
		return "bring the nodes back; or, if nothing runs there any more and their volumes are gone for good,"
	}
	return "to go on from it"
}

// gone says which members' data is gone.
func (l QuorumLoss) gone() string {
	unnamed := l.Voters - len(l.Survivors) - len(l.Missing) - len(l.Lost)
	switch {
	case unnamed <= 0:
		return "the data of " + list(cluster.Names(l.Lost)) + " is gone"
	case len(l.Lost) == 0:
		return fmt.Sprintf("the data of %d of %d members is gone", unnamed, l.Voters)
	default:
		return fmt.Sprintf("the data of %s and %d more is gone", list(cluster.Names(l.Lost)), unnamed)
	}
}

// silent is a survivor that has not reported what data it has; empty if there is none.
func (l QuorumLoss) silent() cluster.Member {
	for _, m := range l.Survivors {
		if m.Index == 0 {
			return m
		}
	}
	return cluster.Member{}
}

// deletedVolumes are the survivors whose volumes are being deleted.
func (l QuorumLoss) deletedVolumes() []string {
	return cluster.Names(slices.DeleteFunc(slices.Clone(l.Survivors), cluster.Not(dataGoesWithPod)))
}

// dataGoesWithPod says whether a member's data lasts only as long as its Pod, although
// it has a volume: the volume is being deleted, and Kubernetes keeps it no longer.
func dataGoesWithPod(m cluster.Member) bool { return cluster.HasPod(m) && m.Volume != cluster.Kept }

// beyondRepair decides how a cluster goes on whose quorum is lost for good: a
// person accepts the loss, or the spec has allowed the operator to go on by itself.
func beyondRepair(v cluster.View) Step {
	if step := outnumbered(v); step != nil {
		return step
	}
	loss, lasting := Lasting(v)
	if !lasting {
		return nil
	}
	gone, unknown := whatIsGone(v, loss), v.UnknownVoters()
	proposal, known := loss.Proposal()
	if step := backToBackup(v, loss); step != nil {
		return step
	}
	switch {
	case len(loss.Survivors) == 0:
		return refuse(gone + noneLeft(v, loss) + another(v))
	case v.Want.Ephemeral:
		return refuse(gone + "; what is left in " + list(cluster.Names(loss.Survivors)) +
			" cannot outlive its pod; copy it with etcdctl snapshot save and create a new cluster" + another(v))
	case len(loss.deletedVolumes()) > 0:
		return refuse(gone + "; " + cannotOutlive(loss.deletedVolumes()) + another(v))
	case !known:
		return Wait{For: loss.silent().Name + " to report which data it has: " + gone + why(loss.silent()) + orBackup(v, loss, "") + another(v)}
	case v.Want.Automatic && unknown == 0 && !v.Unproven() && loss.isProven() || v.Want.Accepted == proposal.String():
		return BeginRecovery(v, proposal)
	default:
		return refuse(fmt.Sprintf("%s; %s has the newest data that is left, up to revision %d, and writes after it would be lost; "+
			"%s set spec.recovery.acceptDataLoss to %q", gone, proposal.Survivor, proposal.Revision, loss.unless(), proposal) +
			orBackup(v, loss, ", else restore the cluster from a backup") + another(v))
	}
}

// noneLeft says that there is nothing to go on from.
func noneLeft(v cluster.View, loss QuorumLoss) string {
	if len(loss.Missing) > 0 {
		return ", and no other voter is left; bring the nodes back" + orBackup(v, loss, ", or restore the cluster from a backup")
	}
	return ", and no voter is left" + orBackup(v, loss, "; restore the cluster from a backup")
}

// whatIsGone says what is lost, and what only a person can know of it.
func whatIsGone(v cluster.View, loss QuorumLoss) string {
	gone := loss.why()
	if unknown := v.UnknownVoters(); unknown > 0 {
		gone += fmt.Sprintf(" (unknown voters may have newer data: %d)", unknown)
	}
	if v.Unproven() {
		gone += " (its volumes were adopted: only you can know whether another member has newer data)"
	}
	if v.Want.Automatic && !loss.isProven() && len(loss.Missing) == 0 {
		gone += " (members report their data on the metrics port without TLS, so the operator does not choose by it)"
	}
	return gone
}

// cannotOutlive says what a person must do for data that goes with the next Pod that is deleted.
func cannotOutlive(names []string) string {
	return "the volume of " + list(names) + " is being deleted, so that its data goes with its pod; " +
		"copy it with etcdctl snapshot save and create a new cluster"
}

// outnumbered refuses while the voters that have their own data are no quorum without those that have the
// data of another cluster: their own data may still exist somewhere, so it does not count as lost.
func outnumbered(v cluster.View) Step {
	foreign := v.Select(cluster.IsVoter, cluster.IsForeign)
	rest := v.Select(cluster.IsVoter, cluster.Not(cluster.IsForeign), cluster.Not(cluster.IsBeyondRepair), cluster.Not(cluster.IsMissing))
	unknown := v.UnknownVoters()
	if len(foreign) == 0 || quorum.Holds(len(rest)+unknown, v.Count(cluster.IsVoter)+unknown) {
		return nil
	}
	m := foreign[0]
	return refuse(m.Name + " is detached from clients: " + m.Foreign + ", and without it the others are no quorum; " +
		"put its own data back into its volume; if that is lost, bring back a volume or a backup that has it: what is on this volume is " +
		"another cluster's, and may be all that is left of that")
}

// othersVote counts the unknown voters: without them quorum may be lost.
func othersVote(v cluster.View) string {
	if unknown := v.UnknownVoters(); unknown > 0 {
		return fmt.Sprintf(" (unknown voters count for its quorum: %d)", unknown)
	}
	return ""
}

// recoverQuorum deletes all other Pods and quarantines their volumes before the survivor starts: no member may
// come back with another history.
func recoverQuorum(v cluster.View) Step {
	if v.Record.Recovering == "" {
		return nil
	}
	survivor, _ := v.Member(v.Record.Recovering)
	if servesAlone(v, survivor) {
		return EndRecovery(v)
	}
	if cluster.IsBeyondRepair(survivor) {
		return lostMeanwhile(v, survivor)
	}
	if dataGoesWithPod(survivor) && !survivor.Pod.Forced {
		return refuse(cannotOutlive([]string{survivor.Name}))
	}
	for _, m := range v.Members {
		if m.Name == survivor.Name {
			continue
		}
		if step := fence(m, survivor.Name); step != nil {
			return step
		}
	}
	return forceNewCluster(v, survivor)
}

// lostMeanwhile is for a survivor whose data goes while the cluster is recovered from it: the volumes of the others were set aside.
func lostMeanwhile(v cluster.View, survivor cluster.Member) Step {
	loss := lossOf(v.Select(cluster.IsVoter))
	if step := backToBackup(v, loss); step != nil {
		return step
	}
	return refuse("the data of " + survivor.Name + " was lost while the cluster was recovered from it" +
		orBackup(v, loss, "; restore the cluster from a backup") + another(v))
}

// servesAlone says whether the survivor serves as the only voter.
func servesAlone(v cluster.View, survivor cluster.Member) bool {
	return survivor.Pod.Forced && survivor.Leader && survivor.Healthy && v.Unread == "" && v.Count(cluster.IsVoter) == 1
}

// fence deletes the Pod of a member that the cluster goes on without, and quarantines its volume. It does
// not wait for a Pod that is being deleted and whose node is silent: that member alone has no quorum.
func fence(m cluster.Member, survivor string) Step {
	switch {
	case m.Pod.Exists() && !m.Pod.IsTerminating():
		return deletePod(m, "the cluster goes on from "+survivor)
	case m.Pod.Exists() && !m.Pod.Overdue:
		return Wait{For: "pod " + m.Name + " to be gone", Look: Soon}
	case m.Volume == cluster.Kept:
		return Quarantine{Name: m.Name}
	default:
		return nil
	}
}

// forceNewCluster starts the survivor with --force-new-cluster, after its own Pod is gone.
func forceNewCluster(v cluster.View, survivor cluster.Member) Step {
	pod := survivor.Pod
	switch {
	case !pod.Exists():
		return CreatePods{Names: []string{survivor.Name}, Forced: true}
	case pod.IsTerminating():
		return Wait{For: "pod " + survivor.Name + " to be gone", Look: Soon}
	case !pod.Forced, pod.Phase == cluster.Finished:
		return deletePod(survivor, "it starts again with --force-new-cluster")
	default:
		return Wait{For: survivor.Name + " to serve as the only member" + why(survivor), Look: soonIf(v.Fresh)}
	}
}
