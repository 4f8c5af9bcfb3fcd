// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// isBeginning says whether the first members may be decided on now: what a cache does not
// show yet would count as not existing.
func isBeginning(c *v1beta1.EtcdCluster) bool {
	v := begin(Snapshot{Cluster: c}).v
	if v.Restore.InPlace != "" && v.Want.Size > 0 && v.Want.Paused == "" {
		return true // a Pod that is not seen would go on to serve what the cluster had
	}
	if v.Formed() || v.Want.Size == 0 || v.Want.Paused != "" {
		return false
	}
	return !v.Planned() || v.Want.Size < len(v.Record.First)
}

// running are the members to ask, and whether there are any: not before the plan
// is frozen, and not while an object of another owner has a member's name.
func running(s Snapshot) (members []cluster.Member, ask bool) {
	j := begin(s)
	j.kubernetes()
	for _, m := range j.sorted() {
		if m.Pod.Phase == cluster.Running && m.Pod.Address != "" {
			members = append(members, m)
		}
	}
	return members, (j.v.Planned() || j.v.Adoption.Wanted) && !j.v.IsDisplaced()
}

// credibleAnswers are the answers to go by. If their leader is not among them, no member can
// be read from, except if it is an unknown voter, which is never queried.
func credibleAnswers(s Snapshot) (credible []*Answer, led bool) {
	credible = begin(s).credible()
	return credible, answerOf(newest(credible).leader, credible) != nil
}

// IsLedByUnknown says whether the leader is an unknown voter: only a read shows whether
// it leads.
func IsLedByUnknown(s Snapshot) bool {
	j := begin(s)
	j.readMemberLists()
	return isUnknown(newest(j.credible()).leader, j.v.Unknown)
}

// Follows says whether the member follows the newest leader of all. One that does not may not know of
// the election yet, and has to for a read: then it is to be asked for its status again.
func Follows(a *Answer, among []*Answer) bool { return a.follows() == newest(among) }

// memberListSource is the member to ask for what it remembers of the membership, nil if there is none.
func memberListSource(answers []*Answer) *Answer {
	return best(answers, func(a *Answer) bool { return a.Err == nil })
}

// LinearizableSource is the member to ask for the member list after all were read from, nil if there is
// none. No list is trusted while members follow different leaders.
func LinearizableSource(s Snapshot) (lister *Answer, split bool) {
	j := begin(s)
	credible := j.credible()
	led := newest(credible)
	lister = best(credible, func(a *Answer) bool { return a.serves() && a.follows() == led })
	return lister, j.split(credible, led) != ""
}

// AreSlow says whether quorum would count as lost only because members take their time: too few serve, but with those that have taken the
// connection and did not answer in time they are a majority. A busy machine or disk looks like that; members that are gone do not.
func AreSlow(s Snapshot) bool {
	serving, slow := 0, 0
	for _, a := range s.Answers {
		switch {
		case a.serves():
			serving++
		case etcd.IsSlow(a.Err), a.WasRead && etcd.IsSlow(a.Read):
			slow++
		}
	}
	half := max(len(s.Answers), len(s.Cluster.Status.Members)) / 2
	return serving <= half && serving+slow > half
}

// NeedDowngradeStatus is the member to ask whether a downgrade goes on, nil if that need not be known. No
// status reports it if all members run etcd 3.5; it matters when one may be added next.
func NeedDowngradeStatus(s Snapshot) *Answer {
	if !slices.ContainsFunc(s.Answers, func(a *Answer) bool { return version.MinorOf(a.Status.Version) == firstMinor }) {
		return nil
	}
	j := begin(s)
	j.kubernetes()
	j.etcd()
	if !j.mayDescend() {
		return nil
	}
	for _, a := range j.credible() {
		if a.serves() {
			return a
		}
	}
	return nil
}

// isHibernated says whether the cluster hibernates, and an earlier look at this very spec found
// that all is as wanted. Nothing is created or changed until the spec is, so what the watches do
// not show need not be looked for again: any number of such clusters causes no requests.
func isHibernated(s Snapshot) bool {
	if !mayBeAsleep(s.Cluster) {
		return false
	}
	j := begin(s)
	j.kubernetes()
	return len(j.pods) == 0
}

// mayBeAsleep says whether the status says of this very spec that the cluster hibernates: the API server showed no Pod of a member,
// and nothing was wrong.
func mayBeAsleep(c *v1beta1.EtcdCluster) bool {
	if c.Size() > 0 || c.Status.ObservedGeneration != c.Generation {
		return false
	}
	available := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionAvailable)
	return available != nil && available.Reason == v1beta1.ReasonHibernated && c.Status.Replicas == 0 &&
		meta.IsStatusConditionPresentAndEqual(c.Status.Conditions, v1beta1.ConditionDegraded, metav1.ConditionFalse)
}

// confirmedPods are those of the members, as they were read last, by name.
func confirmedPods(s Snapshot) map[string]*corev1.Pod {
	j := begin(s)
	j.kubernetes()
	j.confirm()
	return j.pods
}

// waitsForNode says whether a Pod has found no node for so long that its volume may be bound to one
// that is gone or silent.
func waitsForNode(s Snapshot, pod *corev1.Pod) bool {
	condition := hasCondition(pod, corev1.PodScheduled, corev1.ConditionFalse)
	return pod.Spec.NodeName == "" && condition != nil &&
		s.come().Sub(condition.LastTransitionTime.Time) >= s.Cluster.Spec.Recovery.MemberTimeout.Duration
}
