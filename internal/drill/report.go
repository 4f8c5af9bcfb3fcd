// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Report is the status after the step, given the error that it ended with.
func Report(v View, generation int64, step Step, err error) v1beta1.EtcdDrillStatus {
	s := v.status()
	if r, records := step.(Record); records && err == nil {
		s = *r.Status.DeepCopy()
	}
	f, finishes := step.(Finish)
	if finishes && err == nil {
		s = *f.Status.DeepCopy()
	}
	s.ObservedGeneration = generation
	if s.NextAt = nextAt(v); s.EndedAt == nil && s.ScheduledFor != nil {
		s.NextAt = nil
	}
	if v.Job.Exists && v.Job.Owned && s.Job != nil && s.Job.Name == v.Job.Name {
		s.Job.UID = v.Job.UID
	}
	if v.Status.EndedAt != nil { // what is done after the end is no news
		return s
	}
	s.Phase = phase(s, step, err)
	complete := condition(v, s, step, err)
	complete.ObservedGeneration, complete.Message = generation, shortened(complete.Message)
	meta.SetStatusCondition(&s.Conditions, complete)
	complete.Type = v1beta1.ConditionReady
	meta.SetStatusCondition(&s.Conditions, complete)
	return s
}

func phase(s v1beta1.EtcdDrillStatus, step Step, err error) v1beta1.DrillPhase {
	f, finishes := step.(Finish)
	switch {
	case finishes && err == nil:
		return f.Phase
	case s.Job != nil || s.StartedAt != nil:
		return v1beta1.DrillRunning
	default:
		return v1beta1.DrillPending
	}
}

// condition is Complete after the step.
func condition(v View, s v1beta1.EtcdDrillStatus, step Step, err error) metav1.Condition {
	is := func(status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: v1beta1.ConditionComplete, Status: status, Reason: reason, Message: message}
	}
	if err != nil {
		return is(metav1.ConditionFalse, v1beta1.ReasonStepFailed, "trying again: "+err.Error())
	}
	switch step := step.(type) {
	case Finish:
		if step.Phase == v1beta1.DrillRecovered {
			return is(metav1.ConditionTrue, step.Reason, step.Message)
		}
		return is(metav1.ConditionFalse, step.Reason, step.Message)
	case Wait:
		return is(metav1.ConditionFalse, step.Reason, "waiting for "+step.For)
	case Record, CreateJob, DeleteJob, Disrupt, RemoveFinalizer, CreateCluster, DeleteCluster, Done:
	}
	if s.StartedAt != nil {
		return is(metav1.ConditionFalse, v1beta1.ReasonRecoveryAwaited, "waiting for EtcdCluster "+v.Spec.Cluster+" to recover")
	}
	return is(metav1.ConditionFalse, v1beta1.ReasonMeasuring, "the first writes are awaited, before the failure")
}

// shortened keeps a message within the limit of the API conventions.
func shortened(message string) string {
	const longest = 1024
	return strings.ToValidUTF8(message[:min(len(message), longest)], "")
}

// Event is one sentence in the history of an EtcdDrill.
type Event struct {
	Type, Reason, Action, Note string
	OfCluster                  bool // it is one of the EtcdCluster, too
}

// Events are what happened between two statuses: that the failure was caused, that the drill has ended, and what it comes to wait for.
func Events(before, after v1beta1.EtcdDrillStatus, step Step, err error) []Event {
	if err != nil {
		return nil
	}
	switch s := step.(type) {
	case Record:
		if s.Event != "" {
			return []Event{{corev1.EventTypeNormal, s.Event, "Drill", shortened(s.What), true}}
		}
	case Finish:
		severity := corev1.EventTypeWarning
		if s.Phase == v1beta1.DrillRecovered {
			severity = corev1.EventTypeNormal
		}
		return []Event{{severity, "Drill" + string(s.Phase), "Drill", shortened(s.Message), true}}
	case Wait:
		was, is := complete(before), complete(after)
		if after.StartedAt == nil && after.Job == nil && is.Reason != was.Reason {
			return []Event{{corev1.EventTypeNormal, "DrillPostponed", "Wait", is.Message, false}}
		}
	case CreateJob, DeleteJob, Disrupt, RemoveFinalizer, CreateCluster, DeleteCluster, Done:
	}
	return nil
}

func complete(s v1beta1.EtcdDrillStatus) metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, v1beta1.ConditionComplete); c != nil {
		return *c
	}
	return metav1.Condition{}
}
