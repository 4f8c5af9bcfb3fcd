// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const (
	// fresh is how long a preview stays valid although the cluster has changed: time to read it and to confirm it.
	fresh = 10 * time.Minute
	// freshest is for how long it stands at the most while the safety backup is being made: as long as a Job may run.
	freshest = 24 * time.Hour
)

// NeedsRevision says whether the next step depends on the revision that etcd has now: a preview is made or has expired, or the restore may
// be about to begin.
func NeedsRevision(v View) bool {
	c, r := v.Cluster, v.Restore
	switch {
	case r.Spec.IsPartial():
		return false // the Jobs ask
	case c == nil || c.Status.ClusterID == "" || !c.DeletionTimestamp.IsZero():
		return false
	case !r.DeletionTimestamp.IsZero() || r.Spec.Undo || hasBegun(v) || plan(v) != nil:
		return false
	}
	p := r.Status.Preview
	return p == nil || p.Message != "" || isConfirmed(v) || !isFresh(v, p)
}

func isConfirmed(v View) bool {
	p := v.Restore.Status.Preview
	return p != nil && (v.Restore.Spec.Confirm == p.Confirm || isAccepted(v, p))
}

// stands says whether a preview still shows what is lost, so that a confirmation of it counts: etcd has the revision of the preview, or
// the preview is new. A cluster in use changes all the time, also while the safety backup is made: that backup has these changes.
// A loss that was accepted by the name of a backup counts for as long as the cluster says it. A preview for which etcd could not be asked
// means nothing once it answers.
func stands(v View, p *v1beta1.RestorePreview) bool {
	wasAsked, isAsked := p.Message == "", v.Unasked == ""
	switch {
	case isAccepted(v, p):
		return true
	case !wasAsked && v.Revision > 0:
		return false
	}
	isSame := known(v) == p.FromRevision && wasAsked == isAsked
	return isSame || isFresh(v, p) || isConfirmed(v) && isSecuring(v, p)
}

func isFresh(v View, p *v1beta1.RestorePreview) bool { return v.Now.Sub(p.MadeAt.Time).Abs() < fresh }

// isSecuring says whether the safety backup was begun soon after the preview, and is being made, or was until a moment ago.
func isSecuring(v View, p *v1beta1.RestorePreview) bool {
	b := safetyBackup(v, p)
	switch {
	case b == nil || v.Now.Sub(p.MadeAt.Time) >= freshest:
		return false
	case b.Status.StartedAt != nil && b.Status.StartedAt.Sub(b.CreationTimestamp.Time) >= fresh:
		return false // it has waited for its store, and has what the cluster had then
	}
	until := endOf(b)
	return until == nil || v.Now.Sub(until.Time) < fresh
}

// endOf is when a safety backup was all that it needs to be; nil if it is not yet.
func endOf(b *v1beta1.EtcdBackup) *metav1.Time {
	complete := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionComplete)
	if complete == nil || complete.Status != metav1.ConditionTrue {
		return nil
	}
	if verified := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionVerified); verified != nil && !needsNoTrial(verified) {
		return nil
	}
	if b.Status.Verified != nil {
		return &b.Status.Verified.At
	}
	return b.Status.FinishedAt
}
