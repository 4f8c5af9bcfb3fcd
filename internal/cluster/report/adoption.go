// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// adopting writes down that an adoption has begun or ended.
func adopting(status *v1beta1.EtcdClusterStatus, was, is cluster.Adopting) {
	if is.Begun != was.Begun || is.Ended != was.Ended {
		status.Adoption = adoptionStatus(is)
	}
}

// adoptionStatus is what the status keeps of an adoption.
func adoptionStatus(a cluster.Adopting) *v1beta1.AdoptionStatus {
	status := &v1beta1.AdoptionStatus{StartedAt: metav1.Unix(a.Begun, 0), Sources: []v1beta1.SourceMember{}}
	if a.Ended > 0 {
		status.CompletedAt = new(metav1.NewTime(time.Unix(a.Ended, 0)))
	}
	for _, m := range a.Sources {
		status.Sources = append(status.Sources, v1beta1.SourceMember{
			ID: strconv.FormatUint(m.ID, 16), Name: m.Name, PeerURLs: m.PeerURLs, ClientURLs: m.ClientURLs,
		})
	}
	return status
}

// withAdoption says how far the adoption of a running cluster is, if one is asked for.
func withAdoption(all []metav1.Condition, c *v1beta1.EtcdCluster, v cluster.View, step plan.Step) []metav1.Condition {
	ended := v.Record.Adopting.Ended > 0
	if s, records := step.(plan.Record); records {
		ended = ended || s.Fact.Adopting.Ended > 0
	}
	if !v.Adoption.Wanted && !ended {
		return all
	}
	status, reason, message := adopted(v, ended)
	if ended && c.Spec.Bootstrap != nil && c.Spec.Bootstrap.Adopt.Keeps() {
		message = "all members are the operator's, with the volumes of the members that were there before: delete StatefulSet " +
			c.Spec.Bootstrap.Adopt.StatefulSet + ", whose Pods would start on the same volumes"
	}
	message += inItsWay(v, step)
	meta.SetStatusCondition(&all, metav1.Condition{
		Type: v1beta1.ConditionAdopted, Status: status, Reason: reason, Message: shortened(message), ObservedGeneration: c.Generation,
	})
	return all
}

// inItsWay is what keeps an adoption from going on, and when it is complete which Services no longer lead to members; empty if none.
func inItsWay(v cluster.View, step plan.Step) string {
	if s, refused := step.(plan.Refuse); refused && v.Adoption.Wanted && v.Planned() {
		return "; " + s.Because
	}
	if v.Adoption.Wanted {
		return ""
	}
	for _, service := range v.Adoption.Services {
		if astray := plan.Astray(service); astray != "" {
			return "; " + astray
		}
	}
	return ""
}

func adopted(v cluster.View, ended bool) (metav1.ConditionStatus, string, string) {
	a, no, sources, ours := v.Adoption, metav1.ConditionFalse, len(v.Sources()), v.Count(cluster.IsVoter)
	all := len(v.Record.Adopting.Sources)
	switch {
	case ended:
		return metav1.ConditionTrue, v1beta1.ReasonSourceAdopted, "all members are the operator's; the volumes of the members that were there " +
			"before are kept"
	case !v.Planned() && a.Unreachable != "":
		return no, v1beta1.ReasonSourceUnreachable, "the running cluster cannot be read: " + a.Unreachable
	case !v.Planned() && a.Unfit != "":
		return no, v1beta1.ReasonSourceUnfit, a.Unfit
	case a.Undo && sources > 0:
		return no, v1beta1.ReasonAdoptionUndone, fmt.Sprintf("%d members of the operator are in the cluster, and leave again%s; of %d members "+
			"that were there before, %d are left", v.Count(cluster.IsListed), beforeDeletion(v), all, sources)
	case a.Keeps:
		return no, v1beta1.ReasonVolumesTakenOver, keeping(v)
	case ours < v.Want.Size:
		return no, v1beta1.ReasonMembersJoining, fmt.Sprintf("%d of %d members of the operator have joined; nothing of the members that were "+
			"there before is changed until then", ours, v.Want.Size)
	case a.Undo:
		return no, v1beta1.ReasonSourcesLeaving, "all members of the operator have joined, and it is too late to undo the adoption"
	default:
		return no, v1beta1.ReasonSourcesLeaving, fmt.Sprintf("all %d members of the operator have joined; of %d members that were there "+
			"before, "+
			"%d are left, and leave one at a time", ours, all, sources)
	}
}

// beforeDeletion says that the EtcdCluster is being deleted, and goes when nothing of ours is left.
func beforeDeletion(v cluster.View) string {
	if !v.Backup.Leaving {
		return ""
	}
	return ", before the EtcdCluster is deleted"
}

// keeping says how many members have taken over the volumes of sources.
func keeping(v cluster.View) string {
	all, left := len(v.Record.Adopting.Sources), len(v.Sources())
	said := fmt.Sprintf("members of the operator have the volumes of %d of %d members that were there before; the others follow one at a time",
		all-left, all)
	switch {
	case left == all:
		return said + "; until the first one the adoption can be undone"
	case v.Backup.Leaving:
		return said + "; it is too late to undo the adoption, and the EtcdCluster is deleted when all have followed; its volumes stay"
	case v.Adoption.Undo:
		return said + "; it is too late to undo the adoption"
	default:
		return said
	}
}
