// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// ConditionUpgradeable is what Operator Lifecycle Manager asks of an operator before it
// updates it.
const ConditionUpgradeable = "Upgradeable"

// holdsFor is how long after a cluster began to change an update of the operator waits for
// it at most: what does not come to an end may need the newer operator to do so.
const holdsFor = time.Hour

// holds are the reasons for an update of the operator to wait, the most important first.
// Their messages name no cluster and no number, because each change of one makes Operator
// Lifecycle Manager look again before it lets an update go.
var holds = []struct{ reason, message string }{
	{v1beta1.ReasonQuorumRecoveryInProgress, "the quorum of an etcd cluster is being recovered"},
	{v1beta1.ReasonMemberReplacementInProgress, "a member of an etcd cluster is being added, removed or replaced"},
	{v1beta1.ReasonRollInProgress, "members of an etcd cluster are being brought to another version or other settings, one at a time"},
}

// Upgradeable says whether the operator may be updated now, and when that may change
// although no cluster does; zero if it may not. It only avoids disturbance: a change in
// progress is safe if the operator is replaced in the middle of it.
func Upgradeable(clusters []v1beta1.EtcdCluster, operator string, now time.Time) (metav1.Condition, time.Time) {
	under, until := map[string]bool{}, time.Time{}
	for i := range clusters {
		reason, end := Holds(&clusters[i], operator, now)
		if reason == "" {
			continue
		}
		if under[reason] = true; until.IsZero() || end.Before(until) {
			until = end
		}
	}
	for _, hold := range holds {
		if under[hold.reason] {
			return metav1.Condition{Type: ConditionUpgradeable, Status: metav1.ConditionFalse, Reason: hold.reason, Message: hold.message}, until
		}
	}
	return metav1.Condition{
		Type: ConditionUpgradeable, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonIdle,
		Message: "no change of an etcd cluster is under way that an update should wait for",
	}, until
}

// Holds is the reason for which a cluster holds an update of the operator back, and until
// when it does at most; empty if it does not. One of another operator holds nothing back,
// and neither does one that does not change now: it is as wanted, is paused, or waits for a
// person, and the update may help that person.
func Holds(c *v1beta1.EtcdCluster, operator string, now time.Time) (string, time.Time) {
	status := &c.Status
	progressing := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionProgressing)
	degraded := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionDegraded)
	switch {
	case status.Operator != operator, status.Format > v1beta1.StatusFormat, c.DeletionTimestamp != nil:
		return "", time.Time{}
	case progressing == nil || progressing.Status != metav1.ConditionTrue:
		return "", time.Time{}
	case degraded != nil && degraded.Reason == v1beta1.ReasonMemberBlocked:
		return "", time.Time{}
	}
	end := progressing.LastTransitionTime.Add(holdsFor)
	reason := change(c)
	if reason == "" || !now.Before(end) {
		return "", time.Time{}
	}
	return reason, end
}

// change is the change in progress of a cluster, if it is worth waiting for. A cluster that
// forms or hibernates has nothing to lose.
func change(c *v1beta1.EtcdCluster) string {
	status := &c.Status
	switch {
	case status.Recovering != "":
		return v1beta1.ReasonQuorumRecoveryInProgress
	case status.Replicas == 0 || c.Size() == 0:
		return ""
	case int(status.Replicas) != c.Size() || status.Joining != "" || hasOthers(status.Members):
		return v1beta1.ReasonMemberReplacementInProgress
	case status.UpdatedMembers < status.Replicas || status.Version != "" && status.Version != version.Full(c.Spec.Version):
		return v1beta1.ReasonRollInProgress
	default:
		return ""
	}
}

// hasOthers says whether there are members that do not vote: not yet, or no longer.
func hasOthers(members []v1beta1.MemberStatus) bool {
	return slices.ContainsFunc(members, func(m v1beta1.MemberStatus) bool {
		return m.Role != v1beta1.RoleLeader && m.Role != v1beta1.RoleVoter
	})
}
