// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// Event is one sentence in the history of a cluster.
type Event struct {
	Type   string // Normal or Warning
	Reason string // one word for machines
	Action string // what was being done, one word
	Note   string
}

// Events are what happened between two statuses: one for the step if it has succeeded and changes
// something, and one for each condition whose new status or reason is worth an event.
func Events(before, after v1beta1.EtcdClusterStatus, step plan.Step, err error) []Event {
	var events []Event
	if reason := plan.KindOf(step).Event; reason != "" && err == nil {
		events = append(events, Event{corev1.EventTypeNormal, reason, "Step", shortened(step.String())})
	}
	if note := revokedSince(before.Revocations, after.Revocations); note != "" {
		events = append(events, Event{corev1.EventTypeNormal, "CertificatesRevoked", "Observe", note})
	}
	if c := turned(before, after, v1beta1.ConditionAvailable); c != nil && !isForming(c) {
		events = append(events, Event{severity(c), c.Reason, "Observe", c.Message})
	}
	if c := turned(before, after, v1beta1.ConditionDegraded); c != nil && c.Status == metav1.ConditionTrue {
		events = append(events, Event{corev1.EventTypeWarning, c.Reason, "Observe", c.Message})
	}
	if c := turned(before, after, v1beta1.ConditionPerformanceDegraded); c != nil && c.Status == metav1.ConditionTrue {
		events = append(events, Event{corev1.EventTypeWarning, c.Reason, "Observe", c.Message})
	}
	if c := meta.FindStatusCondition(after.Conditions, v1beta1.ConditionDegraded); isForewarned(c) &&
		!isForewarned(meta.FindStatusCondition(before.Conditions, v1beta1.ConditionDegraded)) {
		events = append(events, Event{corev1.EventTypeWarning, v1beta1.ReasonAuthorityEnds, "Observe", c.Message})
	}
	return events
}

// revokedSince says that certificates are revoked; empty if that is no news.
func revokedSince(before, after *v1beta1.RevocationStatus) string {
	isDone := func(r *v1beta1.RevocationStatus) bool { return r != nil && r.Phase == v1beta1.RevocationDone }
	if !isDone(after) || len(after.Serials) == 0 || isDone(before) && before.RevokedAt == after.RevokedAt {
		return ""
	}
	return shortened(fmt.Sprintf("every member refuses certificates that are revoked, and no connection by them is left: serial numbers %s",
		strings.Join(after.Serials, ", ")))
}

// isForming says whether the cluster has yet to serve for the first time, which is no news.
func isForming(available *metav1.Condition) bool {
	return available.Reason == v1beta1.ReasonBootstrapping || available.Reason == v1beta1.ReasonRestoring
}

// isForewarned says whether nothing is wrong yet.
func isForewarned(degraded *metav1.Condition) bool {
	return degraded != nil && v1beta1.CurrentReason(degraded.Reason) == v1beta1.ReasonAsExpected && degraded.Message != noFault
}

// OtherOperator says why this installation of the operator leaves a cluster alone. Installations are
// named by their Leases, as namespace/name.
func OtherOperator(other, ours string, hidden bool) Event {
	why := fmt.Sprintf("until the lease %s is given up or runs out", other)
	if hidden {
		why = fmt.Sprintf("because it may not read the lease %s, to see whether it is held: allow that", other)
	}
	note := fmt.Sprintf("the operator of lease %s manages this cluster; %s does nothing to it %s; "+
		"uninstall one of them, or limit the namespaces that each watches", other, called(ours), why)
	return Event{corev1.EventTypeWarning, "OtherOperator", "Observe", shortened(note)}
}

// TookOver says that another installation manages the cluster from now on.
func TookOver(other, ours string) Event {
	return Event{corev1.EventTypeNormal, "OperatorChanged", "Observe", fmt.Sprintf("%s manages this cluster from now on: "+
		"the lease %s of the one before is no longer held", called(ours), other)}
}

func called(operator string) string {
	if operator == "" {
		return "an operator without a lease"
	}
	return "the operator of lease " + operator
}

// NewerStatus says why a cluster is left alone whose status a newer operator has
// written. An event is all that can say it: a write of the status would lose what
// only that one understands.
func NewerStatus(v cluster.View) Event {
	return Event{
		corev1.EventTypeWarning, "NewerStatus", "Observe",
		"a newer version of the operator has taken this cluster over: " + v.Newer + "; nothing is changed until that version runs again",
	}
}

// UnclearPause says that a cluster is paused although that may not be meant.
func UnclearPause(v cluster.View) Event {
	return Event{
		corev1.EventTypeWarning, "UnclearPause", "Observe",
		shortened(v.Want.Paused + ": nothing is changed or healed; write \"true\" or \"false\""),
	}
}

// severity is a warning unless the cluster serves, or its user has stopped it.
func severity(available *metav1.Condition) string {
	switch available.Reason {
	case v1beta1.ReasonDeleting, v1beta1.ReasonHibernated, v1beta1.ReasonRestarting:
		return corev1.EventTypeNormal
	}
	if available.Status == metav1.ConditionTrue {
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}

// turned is the condition if its status or reason has changed.
func turned(before, after v1beta1.EtcdClusterStatus, kind string) *metav1.Condition {
	was, is := meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return nil
	}
	return is
}
