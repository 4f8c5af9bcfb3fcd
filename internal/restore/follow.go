// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// follow says how far the cluster is.
func follow(v View) Step {
	p := plan(v)
	if p == nil {
		return nil
	}
	var step Wait
	switch {
	case (p.Undo || p.Undoes) && p.CompletedAt != nil:
		step = wait(v, v1beta1.RestoreUndone, v1beta1.ReasonUndone, undone(p))
	case p.Undoes:
		step = wait(v, v1beta1.RestoreUndoing, v1beta1.ReasonUndoing, running(p))
	case p.Undo:
		step = wait(v, v1beta1.RestoreUndoing, v1beta1.ReasonUndoing, "waiting for "+cmp.Or(p.Progress, "the members to come back"))
	case p.CompletedAt != nil:
		step = complete(v, p)
	default:
		step = wait(v, v1beta1.RestoreRunning, reason(p), running(p))
	}
	step.Status.SetAside, step.Status.UndoUntil, step.Status.FromRevision = setAside(p), undoUntil(p), p.FromRevision
	if p.Undo || p.Undoes {
		step.Status.UndoUntil = nil
	}
	return step
}

// setAside is nothing before a member has given way.
func setAside(p *v1beta1.RestoreStatus) []string {
	if p.RestoredAt == nil {
		return nil
	}
	return p.SetAside
}

func undone(p *v1beta1.RestoreStatus) string {
	if p.IsCancelled() {
		return "the restore was undone before any member was stopped"
	}
	if p.Undoes {
		return fmt.Sprintf("the cluster has what it had before the restore, and clients see it as revision %d and later; what was written "+
			"since is in the volumes that are set aside", p.Revision+p.Bump)
	}
	return "the cluster has what it had before the restore, and the revisions of that time: restart clients that watch; what was written " +
		"since is in the volumes that are set aside"
}

func complete(v View, p *v1beta1.RestoreStatus) Wait {
	message := fmt.Sprintf("the cluster serves %s; clients see it as revision %d and later", words(p.Backup, p.Revision, p.Log),
		p.Revision+p.Bump)
	return wait(v, v1beta1.RestoreComplete, v1beta1.ReasonRestored, message)
}

// reason distinguishes a restore that needs a person from one that continues by itself.
func reason(p *v1beta1.RestoreStatus) string {
	if p.Problem != "" || p.Failure != nil && p.Failure.Final {
		return v1beta1.ReasonRestoreFailing
	}
	return v1beta1.ReasonRestoring
}

// running quotes what keeps the restore from going on, or what it waits for.
func running(p *v1beta1.RestoreStatus) string {
	switch {
	case p.Problem != "":
		return p.Problem
	case p.Failure != nil:
		return p.Failing()
	case p.RestoredAt != nil:
		return "waiting for " + cmp.Or(p.Progress, "the cluster to serve the data")
	}
	return "waiting for " + cmp.Or(p.Progress, "the volumes to be filled") + "; the old members run until the new ones can replace them"
}

// ended says why a restore that has begun stays as it is.
func ended(v View, p *v1beta1.RestoreStatus, message string) Step {
	phase, reason := v1beta1.RestoreRunning, v1beta1.ReasonRefused
	if p.CompletedAt != nil {
		phase, reason = v1beta1.RestoreComplete, v1beta1.ReasonRestored
	}
	step := wait(v, phase, reason, message)
	step.Status.SetAside, step.Status.UndoUntil = setAside(p), undoUntil(p)
	return step
}

// stay is for a restore whose plan the cluster no longer has: another one has begun since, or the cluster is gone.
func stay(v View) Step {
	if !hasBegun(v) {
		return nil
	}
	s := v.Restore.Status
	switch {
	case s.Phase == v1beta1.RestoreUndone, s.Phase == v1beta1.RestoreComplete && !v.Restore.Spec.Undo:
		return Done{}
	}
	return wait(v, s.Phase, v1beta1.ReasonReplaced, "the cluster no longer has what this restore has begun, because another one has begun "+
		"since, or the cluster is another one of its name: it cannot be undone")
}

func pending(v View, message string) Step {
	return wait(v, v1beta1.RestorePending, v1beta1.ReasonRefused, message)
}

func wait(v View, phase v1beta1.RestorePhase, reason, message string) Wait {
	return Wait{Status: said(v, phase, reason, message)}
}

// said is the status with another phase, and what it says.
func said(v View, phase v1beta1.RestorePhase, reason, message string) v1beta1.EtcdRestoreStatus {
	s := *v.Restore.Status.DeepCopy()
	s.ObservedGeneration, s.Phase, s.Message = v.Restore.Generation, phase, message
	is := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: v.Restore.Generation,
			LastTransitionTime: metav1.NewTime(v.Now),
		})
	}
	if phase == v1beta1.RestorePending {
		is(v1beta1.ConditionPreviewed, metav1.ConditionFalse, reason, message)
	} else if phase != v1beta1.RestoreUndone || s.Preview != nil {
		is(v1beta1.ConditionPreviewed, metav1.ConditionTrue, v1beta1.ReasonPreviewMade, "the preview says what is restored")
	}
	status := metav1.ConditionFalse
	if phase == v1beta1.RestoreComplete {
		status = metav1.ConditionTrue
	}
	is(v1beta1.ConditionComplete, status, reason, message)
	if phase == v1beta1.RestoreUndone {
		status = metav1.ConditionTrue // as the spec says, or nothing was begun
	}
	is(v1beta1.ConditionReady, status, reason, message)
	return s
}
