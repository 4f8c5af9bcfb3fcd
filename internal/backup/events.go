// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Event is one sentence in the history of an EtcdBackup.
type Event struct {
	Type   string // Normal or Warning
	Reason string // one word for machines
	Action string // what was being done, one word
	Note   string
}

// Events are what happened between two statuses: one for the step if it has succeeded and changes something, one when the
// backup comes to wait for something else, one when it is gone from the store, and one when its deletion begins.
func Events(before, after v1beta1.EtcdBackupStatus, step Step, err error) []Event {
	var events []Event
	if about := KindOf(step); about.Event != "" && err == nil {
		events = append(events, Event{severity(about.Warns), about.Event, "Step", shortened(said(step))})
	}
	if wait, waits := step.(Wait); waits && wait.Task == Backup && wait.Reason != "" && wait.Reason != v1beta1.ReasonRetrying {
		if c := turned(before, after, v1beta1.ConditionComplete); c != nil {
			events = append(events, Event{corev1.EventTypeNormal, c.Reason, "Wait", c.Message})
		}
	}
	c := turned(before, after, v1beta1.ConditionComplete)
	if c != nil && c.Reason == v1beta1.ReasonContentGone && after.Phase == v1beta1.BackupFailed {
		events = append(events, Event{corev1.EventTypeWarning, "BackupGone", "List", c.Message})
	}
	if _, removed := step.(RemoveFinalizer); !removed && after.Phase == v1beta1.BackupDeleting && before.Phase != after.Phase {
		events = append(events, Event{corev1.EventTypeNormal, "DeletionBegun", "Delete", deletion(after, step)})
	}
	return events
}

// deletion says that the object stays for a while.
func deletion(s v1beta1.EtcdBackupStatus, step Step) string {
	note := fmt.Sprintf("this object is deleted when EtcdBackupStore %s has deleted %s", s.Store, s.Path)
	if s.Store == "" {
		note = fmt.Sprintf("this object is deleted when VolumeSnapshot %s is", s.Path)
	}
	if wait, waits := step.(Wait); waits {
		note += "; waiting for " + wait.For
	}
	return shortened(note)
}

// said is what an event quotes of a step.
func said(step Step) string {
	switch s := step.(type) {
	case Record:
		return s.What
	case RemoveFinalizer:
		return s.Because
	case CreateJob, DeleteJob, CreateSnapshot, DeleteSnapshot, AddFinalizer, Mark, Wait, Refuse, Done:
	}
	return step.String()
}

func severity(warns bool) string {
	if warns {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// turned is the condition if its status or reason has changed.
func turned(before, after v1beta1.EtcdBackupStatus, kind string) *metav1.Condition {
	was, is := meta.FindStatusCondition(before.Conditions, kind), meta.FindStatusCondition(after.Conditions, kind)
	if is == nil || was != nil && was.Status == is.Status && was.Reason == is.Reason {
		return nil
	}
	return is
}
