// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// ready says whether the cluster is as its spec wants it, for tools that know no other condition, in the words of the condition that
// decides. It stays True while an authority is rotated, which takes days, and while objects are brought to what is wanted beside members
// that are.
func ready(available, progressing, degraded metav1.Condition, v cluster.View, step plan.Step) metav1.Condition {
	decides, status := available, available.Status
	serves := available.Reason == v1beta1.ReasonHealthy
	asleep := available.Reason == v1beta1.ReasonHibernated
	switch {
	case !serves && !asleep:
		if status == metav1.ConditionTrue {
			status = metav1.ConditionFalse // fewer or more members than wanted
		}
	case degraded.Status == metav1.ConditionTrue && degraded.Reason != v1beta1.ReasonAuthorityEnds:
		decides, status = degraded, metav1.ConditionFalse
	case v.Want.Paused != "", changes(v, step), asleep && step != plan.Step(plan.Done{}):
		decides, status = progressing, metav1.ConditionFalse
	default:
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: v1beta1.ConditionReady, Status: status, Reason: decides.Reason, Message: decides.Message}
}

// changes says whether members have yet to be updated.
func changes(v cluster.View, step plan.Step) bool {
	switch s := step.(type) {
	case plan.Wait:
		return s.For != v.Rotation.Await && s.For != v.Revocation.Await
	case plan.Done, plan.Apply, plan.Record, plan.Quarantine, plan.LiftQuarantine, plan.DeleteVolume, plan.Compact, plan.DisarmAlarm,
		plan.Expire, plan.Hold:
		return v.Count(cluster.IsOutdated) > 0
	case plan.Refuse, plan.CreatePods, plan.DeletePods, plan.MarkPods, plan.UpdateImage, plan.ResizePod, plan.AddLearner,
		plan.UpdatePeerURLs, plan.AdoptVolume, plan.Promote,
		plan.MoveLeader, plan.RemoveMember, plan.Downgrade, plan.CreateBackup, plan.CreateRestore, plan.RouteService, plan.ScaleStatefulSet:
	}
	return true
}
