// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

func cancelDowngrade(v cluster.View) Step {
	switch {
	case !v.Target.Cancel:
		return nil
	case strings.HasPrefix(v.Target.Version, v.DowngradeTarget+"."):
		return Downgrade{Because: "the cluster stays at " + v.DowngradeTarget + " without it, and members may join again"}
	default:
		return Downgrade{Because: "members are to run " + v.Target.Version}
	}
}

// Between two minor versions prepareVersion waits until the whole cluster has the first one. An image that holds
// another version than expected goes to no further member.
func prepareVersion(v cluster.View) Step {
	switch {
	case v.Target.Misnamed != "":
		return refuse(v.Target.Misnamed)
	case v.Target.Await != "":
		return Wait{For: v.Target.Await, Look: Soon}
	case v.Target.Downgrade != "":
		return Downgrade{To: v.Target.Downgrade}
	default:
		return nil
	}
}

// Every voter is healthy when rollOut is reached. Members with ephemeral data whose Pods must be created again
// are replaced by grow and shrink instead.
func rollOut(v cluster.View) Step {
	if step := resize(v); step != nil {
		return step
	}
	var leader cluster.Member
	for _, m := range unreadyFirst(v.Select(cluster.IsListed, cluster.IsOutdated)) {
		switch {
		case m.Pod.Change == cluster.Resize:
			continue
		case v.Want.Ephemeral && cluster.IsSuperseded(m):
			continue
		case !m.Leader:
			return restart(v, m)
		case !m.Pod.Ready && v.Count(cluster.IsVoter) > 1 && v.NotRoot == "":
			return handOver(v, m) // as long as it leads, no other voter can be restarted
		default:
			leader = m
		}
	}
	switch {
	case leader.Name == "":
		return awaitResize(v)
	case v.Count(cluster.IsVoter) == 1:
		return restart(v, leader) // no member can take over: a short outage is the only way
	case v.NotRoot != "":
		return restart(v, leader) // etcd refuses to move leadership for us, and does so itself when its leader ends
	default:
		return handOver(v, leader)
	}
}

// resize changes the compute resources of one Pod at a time: too little for one is
// too little for all. While a Pod still waits for resources it may be resized again at once. A member whose
// Pod the kubelet cannot resize gets a new Pod first, which shows whether it runs with them.
func resize(v cluster.View) Step {
	busy := v.Count(cluster.IsListed, func(m cluster.Member) bool { return m.Pod.Resizing != "" && m.Pod.Change != cluster.Resize }) > 0
	for _, m := range v.Select(cluster.IsListed, cluster.IsOutdated) {
		if m.Pod.Change == cluster.Resize && (!busy || m.Pod.Resizing != "") {
			return ResizePod{m.Name, m.Pod.UID}
		}
	}
	return nil
}

func awaitResize(v cluster.View) Step {
	for _, m := range v.Select(cluster.IsListed, cluster.IsResizing) {
		return Wait{For: m.Name + " to get its new resources: " + m.Pod.Resizing}
	}
	return nil
}

// restart judges the voters that go on to serve before it deletes a Pod. A member whose data goes
// with its Pod is replaced, unless it is the only one.
func restart(v cluster.View, m cluster.Member) Step {
	if m.Pod.IsTerminating() {
		return Wait{For: "pod " + m.Name + " to be gone"}
	}
	voters := v.Select(cluster.IsVoter)
	goes := dataGoesWithPod(m) && m.Pod.Change != cluster.Swap
	if goes && len(voters) == 1 {
		return refuse("the spec has changed, but the volume of " + m.Name + " is being deleted, so that all data would go with its pod; " +
			"set spec.size to 3: then it is replaced")
	}
	up, all := v.Votes(nil, cluster.IsServing, cluster.Except(m.Name))
	if all > 1 && !quorum.Holds(up+readySoon(v, m), all) {
		return Wait{For: fmt.Sprintf("more voters to be ready before %s restarts: %d of %d would serve", m.Name, up, all)}
	}
	if step := awaitDrain(v, m, up+readySoon(v, m)); step != nil {
		return step
	}
	if goes || !m.Pod.Lingers {
		if step := cmp.Or(awaitSteady(v, m.Name+" restarts", m.Name), detachAndWait(v, m)); step != nil {
			return step
		}
	}
	switch {
	case m.Pod.Change == cluster.Swap:
		return UpdateImage{m.Name, m.Pod.UID, v.Target.Version}
	case goes:
		return remove(v, m, "the spec has changed and its volume is being deleted")
	default:
		return DeletePods{[]PodRef{refOf(m)}, DryRun, whatHasChanged(v, m)}
	}
}

// whatHasChanged says why a member restarts.
func whatHasChanged(v cluster.View, m cluster.Member) string {
	switch {
	case m.Name == v.Record.Defragmenting.Member:
		return "its database is defragmented as it starts"
	case m.Pod.Defragments:
		return "its next start needs no defragmentation"
	case m.Pod.OldCABundle:
		return "it was made with other authorities than are trusted now"
	case m.Pod.PredatesRevocation:
		return "certificates were revoked since it was made, and connections by them may be open"
	case v.Record.TLS.Phase == cluster.BothSchemes:
		return "it is to serve both http and https"
	case v.Record.TLS.Phase == cluster.Advertised:
		return "it is to serve " + scheme(v.Record.TLS.Secure) + " alone"
	default:
		return "the spec has changed"
	}
}

// awaitDrain restarts no voter while the others are a quorum only with voters on cordoned nodes: a drain may follow at any moment, and the
// disruption budget holds back evictions, but not the operator (docs/adr/0024). A cluster that takes no writes is worse off than one that
// loses its quorum for the seconds of a restart, if it does: a member that restarts to end NOSPACE does not wait (docs/adr/0078).
func awaitDrain(v cluster.View, m cluster.Member, up int) Step {
	_, voters := v.Votes(nil)
	cordoned := v.Select(cluster.IsVoter, cluster.IsSteady, cluster.IsCordoned, cluster.Except(m.Name))
	if voters < 2 || isToMakeRoom(v)(m) || len(cordoned) == 0 || quorum.Holds(up-len(cordoned), voters) {
		return nil
	}
	return Wait{For: fmt.Sprintf("the drain of %s before %s restarts: its node takes no new pods, and the quorum needs it meanwhile; "+
		"uncordon the node if it is not to be drained", cordoned[0].Name, m.Name)}
}

// readySoon is 1 if one member is healthy again and the kubelet has yet to find it ready, which takes
// a second or two: another member with the same spec is ready, and the member that restarts next lingers
// meanwhile. It is 0 for the first member of a roll, whose readiness proves the spec.
func readySoon(v cluster.View, next cluster.Member) int {
	as := []func(cluster.Member) bool{cluster.IsVoter, cluster.Not(cluster.IsOutdated), cluster.Except(next.Name)}
	ready := v.Select(append(as, cluster.IsServing)...)
	back := v.Select(append(as, cluster.IsSteady, func(m cluster.Member) bool { return !m.Pod.Ready && m.Pod.Phase == cluster.Running })...)
	if !next.Pod.Lingers || len(ready) == 0 {
		return 0
	}
	return min(1, len(back))
}

// detachAndWait detaches a member from the client Service before it is disturbed, and gives
// Kubernetes time to update every node: a client that connects to it while it ends is
// refused, and tries again only after a second (gRPC's connection backoff). A Pod that
// lingers needs no such time.
func detachAndWait(v cluster.View, m cluster.Member) Step {
	if v.Count(cluster.IsVoter) == 1 {
		return nil
	}
	if step := detach(m); step != nil {
		return step
	}
	if m.Pod.IsDetached() && m.Pod.Clients != cluster.Gone && m.Healthy {
		return Wait{For: "clients to leave " + m.Name, Look: Soon}
	}
	return nil
}

// detach detaches a member from the client Service if its Pod is ready and may be changed.
func detach(m cluster.Member) Step {
	if !m.Pod.Ready || m.Pod.IsDetached() || m.Denied.Stands() {
		return nil
	}
	return mark(m, Detach)
}

// awaitSteady detaches members only while all others run steadily: otherwise attach would
// attach them again.
func awaitSteady(v cluster.View, before string, except ...string) Step {
	for _, m := range v.Select(cluster.IsVoter, cluster.Not(cluster.IsSteady), cluster.Except(except...)) {
		return Wait{For: m.Name + " to run steadily before " + before + why(m), Look: soonIf(v.Fresh)}
	}
	return nil
}

// A member that stays while others leave serves in their place.
func attach(v cluster.View) Step {
	leavers := leaving(v)
	for _, m := range v.Select(cluster.IsVoter, cluster.IsSteady) {
		stays := !cluster.IsOutdated(m) || len(leavers) > 0 || awaitSteady(v, "", m.Name) != nil
		if slices.Contains(leavers, m.Name) {
			stays = awaitSteady(v, "", leavers...) != nil
		}
		if m.Pod.IsDetached() && m.Pod.Ready && stays && !m.Denied.Stands() {
			return mark(m, Attach)
		}
	}
	return nil
}

// The first member is the one that runs another image than all others, which are well.
func rollBack(v cluster.View) Step {
	if !v.Want.RollBack || v.Record.RolledBack.Version != "" {
		return nil
	}
	for _, m := range v.Select(cluster.IsVoter, cluster.Not(cluster.IsHealthy), cluster.Not(cluster.IsOutdated)) {
		others := v.Select(cluster.IsVoter, cluster.Except(m.Name))
		before := v.Select(cluster.IsVoter, cluster.Except(m.Name), cluster.IsHealthy, cluster.IsOutdated,
			func(o cluster.Member) bool { return o.Pod.Image != m.Pod.Image })
		if m.Pod.Failing && len(others) > 0 && len(before) == len(others) {
			return RecordRollBack(v, before[0].Version, before[0].Choice(), m.Name+" does not run "+v.Target.Version+why(m))
		}
	}
	return nil
}

// rollBackOnly rolls back an update of the only member: nothing can be read from etcd
// meanwhile, so the version before is the one that the member reported last. The image of that
// version is known only if the user has chosen none.
func rollBackOnly(v cluster.View) Step {
	voters := v.Select(cluster.IsVoter)
	if !v.Want.RollBack || v.Record.RolledBack.Version != "" || v.Target.Image != "" || len(voters) != 1 {
		return nil
	}
	m := voters[0]
	upgraded := m.Version != "" && m.Version != v.Target.Version && !cluster.IsOutdated(m)
	if !m.Pod.Failing || m.Answers || cluster.IsBeyondRepair(m) || !upgraded {
		return nil
	}
	return RecordRollBack(v, m.Version, "", m.Name+" does not run "+v.Target.Version+why(m))
}

func reportBlocked(v cluster.View) Step {
	lost := LostAuthority(v)
	switch {
	case lost != "":
		return refuse(lost)
	case v.Target.NoUpgradePath != "":
		return refuse(v.Target.NoUpgradePath)
	case v.Record.RolledBack.Version != "":
		return refuse(v.Record.RolledBack.String())
	case NoSpace(v) != "":
		return refuse(NoSpace(v))
	case v.Want.NoMember != "":
		return refuse(fmt.Sprintf("the annotation etcd-operator.dev/replace-members names %.80q, which is and was no member of %s: "+
			"correct or remove it", v.Want.NoMember, v.Name))
	case v.Want.NoWindow != "":
		return refuse(v.Want.NoWindow)
	case unroutable(v) != "":
		return refuse(unroutable(v))
	case Denied(v) != "":
		return Refuse{Because: Denied(v), Denied: true}
	case len(v.Refused) > 0:
		return Refuse{Because: Ungrown(v), Denied: true}
	default:
		return refuseForeign(v.Foreign)
	}
}

// Ungrown says which volumes Kubernetes does not let grow, or their storage has not made larger in time, and what to do about it. It is
// empty if there are none.
func Ungrown(v cluster.View) string {
	if len(v.Refused) == 0 {
		return ""
	}
	names := make([]string, 0, len(v.Refused))
	for _, volume := range v.Refused {
		names = append(names, volume.Name)
	}
	return fmt.Sprintf("volumes cannot grow (%s): %s, or set spec.storage.size back to status.volumeSize", list(names), v.Refused[0].Why)
}

// With a quota below the size of the database the next write would raise NOSPACE, and no member would accept another.
func keepRoom(v cluster.View) Step {
	for _, m := range v.Select(cluster.IsListed, cluster.HasQuotaBelowDBSize) {
		return refuse("spec.etcd.quota is less than the database of " + m.Name + ", so that the cluster would accept no more writes; " +
			"no member is restarted for it; set spec.etcd.quota back, or compact and defragment the database first")
	}
	return nil
}
