package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/quorum"
)

// QuorumLoss is what is known of a loss of quorum that lasts: too many voters have
// lost their data, or are missing with it, for the rest to ever be a majority. Voters that
// are only down or out of reach do not count as lost, nor do those that nobody asked for.
// Those that are missing count for what a person may accept, and for nothing else.
type QuorumLoss struct {
	Lost, Missing, Survivors []cluster.Member
	Voters                   int // more than those if only the data of a survivor tells of others
}

// Lasting returns the lasting loss of quorum, and whether there is one.
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

func (l QuorumLoss) lasts(strays int) bool {
	return l.Voters > len(l.Survivors) && !quorum.Holds(len(l.Survivors)+strays, l.Voters+strays)
}

// Proposal is the loss of going on from the best survivor. There is none before every
// survivor has told what it has, and none while the data of one would not outlive its
// Pod, which must be stopped.
func (l QuorumLoss) Proposal() (cluster.Loss, bool) {
	if len(l.Survivors) == 0 || l.silent() != "" || len(l.mortal()) > 0 {
		return cluster.Loss{}, false
	}
	best := l.best()
	return cluster.Loss{Survivor: best.Name, Revision: best.Revision}, true
}

// best is the survivor that knows most entries to be committed, because etcd drops all
// others when it forms a cluster anew.
func (l QuorumLoss) best() cluster.Member {
	var best cluster.Member
	for _, m := range l.Survivors {
		if best.Name == "" || cmp.Or(cmp.Compare(m.Index, best.Index), cmp.Compare(m.Revision, best.Revision)) > 0 {
			best = m
		}
	}
	return best
}

// isProven says whether the operator may go on from the best survivor by itself: nobody who is
// missing may have newer data, or still run, and the numbers by which the best of several is
// chosen are vouched for by their certificates.
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

// unless says what else a person may do than to accept the loss.
func (l QuorumLoss) unless() string {
	if len(l.Missing) > 0 {
		return "bring the nodes back; or, if nothing runs there any more and their volumes are gone for good,"
	}
	return "to go on from it"
}

// gone says whose data is gone.
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

func (l QuorumLoss) silent() string {
	for _, m := range l.Survivors {
		if m.Index == 0 {
			return m.Name
		}
	}
	return ""
}

// mortal are the survivors whose volumes are being deleted.
func (l QuorumLoss) mortal() []string {
	var names []string
	for _, m := range l.Survivors {
		if isMortal(m) {
			names = append(names, m.Name)
		}
	}
	return names
}

// isMortal says whether a member's data is there only for as long as its Pod, although
// it has a volume: that is being deleted, and Kubernetes keeps it no longer.
func isMortal(m cluster.Member) bool { return cluster.HasPod(m) && m.Volume != cluster.Kept }

// beyondRepair decides what becomes of a cluster whose quorum is lost for good: a
// person accepts the loss by name, or has allowed the operator to go on beforehand.
func beyondRepair(v cluster.View) Step {
	if step := outnumbered(v); step != nil {
		return step
	}
	loss, lasting := Lasting(v)
	if !lasting {
		return nil
	}
	gone, strays := whatIsGone(v, loss), v.UnknownVoters()
	switch {
	case len(loss.Survivors) == 0 && len(loss.Missing) > 0:
		return refuse(gone + ", and no other voter is left; bring the nodes back, or restore the cluster from a backup")
	case len(loss.Survivors) == 0:
		return refuse(gone + ", and no voter is left; restore the cluster from a backup")
	case v.Want.Ephemeral:
		return refuse(gone + "; what is left in " + list(cluster.Names(loss.Survivors)) +
			" cannot outlive its pod; copy it with etcdctl snapshot save and create a new cluster")
	}
	proposal, known := loss.Proposal()
	switch {
	case len(loss.mortal()) > 0:
		return refuse(gone + "; " + cannotOutlive(loss.mortal()))
	case !known:
		return Wait{For: loss.silent() + " to say which data it has: " + gone + why(memberOf(v, loss.silent()))}
	case v.Want.Automatic && strays == 0 && !v.Unproven() && loss.isProven() || v.Want.Accepted == proposal.String():
		return BeginRecovery(v, proposal)
	default:
		return refuse(fmt.Sprintf("%s; %s has the newest data that is left, up to revision %d, and writes after it would be lost; "+
			"%s set spec.recovery.acceptDataLoss to %q, else restore the cluster from a backup",
			gone, proposal.Survivor, proposal.Revision, loss.unless(), proposal))
	}
}

// whatIsGone says what is lost, and what only a person can know of it.
func whatIsGone(v cluster.View, loss QuorumLoss) string {
	gone := loss.why()
	if strays := v.UnknownVoters(); strays > 0 {
		gone += fmt.Sprintf(" (voters that are not ours may have newer data: %d)", strays)
	}
	if v.Unproven() {
		gone += " (its volumes were adopted: whether another member has newer data, only you can know)"
	}
	if v.Want.Automatic && !loss.isProven() && len(loss.Missing) == 0 {
		gone += " (what members say on their metrics port is not proven, so the operator does not choose by it)"
	}
	return gone
}

// cannotOutlive says what a person must do for data that goes with the next step.
func cannotOutlive(names []string) string {
	return "the volume of " + list(names) + " is being deleted, so that the data left in it cannot outlive its pod; " +
		"copy it with etcdctl snapshot save and create a new cluster, or delete the pod if nobody needs that data"
}

// outnumbered refuses while voters with data that is not their own leave the others
// without a quorum: their own may be left somewhere, so it does not count as lost.
func outnumbered(v cluster.View) Step {
	foreign := v.Select(cluster.IsVoter, cluster.IsForeign)
	rest := v.Select(cluster.IsVoter, cluster.Not(cluster.IsForeign), cluster.Not(cluster.IsBeyondRepair), cluster.Not(cluster.IsMissing))
	strays := v.UnknownVoters()
	if len(foreign) == 0 || quorum.Holds(len(rest)+strays, v.Count(cluster.IsVoter)+strays) {
		return nil
	}
	m := foreign[0]
	return refuse(m.Name + " is not served to clients: " + m.Foreign + ", and without it the others are no quorum; " +
		"put its own data back into its volume, or delete its pod and its volume: its data then counts as lost")
}

// othersVote counts the voters that nobody asked for: without them quorum may be lost.
func othersVote(v cluster.View) string {
	if strays := v.UnknownVoters(); strays > 0 {
		return fmt.Sprintf(" (voters that are not ours count for its quorum: %d)", strays)
	}
	return ""
}

func memberOf(v cluster.View, name string) cluster.Member {
	m, _ := v.Member(name)
	return m
}

// recoverQuorum forms the cluster anew from one survivor, once that was decided.
// All others are stopped and their volumes set aside before the survivor starts:
// none may come back with another history.
func recoverQuorum(v cluster.View) Step {
	if v.Record.Recovering == "" {
		return nil
	}
	survivor := memberOf(v, v.Record.Recovering)
	if stands(v, survivor) {
		return EndRecovery(v)
	}
	if cluster.IsBeyondRepair(survivor) {
		return refuse("the data of " + survivor.Name + " was lost while the cluster was formed anew from it; restore the cluster from a backup")
	}
	if isMortal(survivor) && !survivor.Pod.Forced {
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
	return force(v, survivor)
}

// stands says whether the survivor serves as the only voter.
func stands(v cluster.View, survivor cluster.Member) bool {
	return survivor.Pod.Forced && survivor.Leader && survivor.Healthy && v.Unread == "" && v.Count(cluster.IsVoter) == 1
}

// fence stops a member that the cluster goes on without. One that has been told to
// stop and whose node is silent is not waited for: alone it has no quorum.
func fence(m cluster.Member, survivor string) Step {
	switch {
	case m.Pod.Exists && !m.Pod.Terminating:
		return stop(m, "the cluster goes on from "+survivor)
	case m.Pod.Exists && !m.Pod.Overdue:
		return Wait{For: "pod " + m.Name + " to be gone", Look: Soon}
	case m.Volume == cluster.Kept:
		return Quarantine{m.Name}
	default:
		return nil
	}
}

func force(v cluster.View, survivor cluster.Member) Step {
	pod := survivor.Pod
	switch {
	case !pod.Exists:
		return CreatePods{Names: []string{survivor.Name}, Forced: true}
	case pod.Terminating:
		return Wait{For: "pod " + survivor.Name + " to be gone", Look: Soon}
	case !pod.Forced, pod.Finished:
		return stop(survivor, "it starts again as a cluster of its own")
	default:
		return Wait{For: survivor.Name + " to form the cluster anew" + why(survivor), Look: soonIf(v.Fresh)}
	}
}
