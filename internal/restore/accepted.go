// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// MayBegin says whether anything but the EtcdRestore itself may have to be known: it is confirmed, undone, or the operator's own.
func MayBegin(r *v1beta1.EtcdRestore) bool {
	return r.Spec.Confirm != "" || r.Spec.Undo || accepts(r) != ""
}

// accepts is the loss by which a person has requested the restore; empty if it was requested otherwise.
func accepts(r *v1beta1.EtcdRestore) string { return r.Annotations[v1beta1.AnnotationAccepted] }

// isOwn says whether the operator has made the EtcdRestore for this very cluster, because its loss was accepted by the name of a backup.
func isOwn(v View) bool {
	return v.Cluster != nil && accepts(v.Restore) != "" && v.Restore.Annotations[v1beta1.AnnotationClusterUID] == string(v.Cluster.UID)
}

// isAccepted says whether the preview is what a person has accepted, and the cluster still offers exactly that: its quorum is lost for
// good, and the spec names this backup and this revision.
func isAccepted(v View, p *v1beta1.RestorePreview) bool {
	loss := lossOf(v)
	return isOwn(v) && loss != nil && loss.Accept == accepts(v.Restore) && isNamed(v) &&
		accepts(v.Restore) == fmt.Sprintf("backup/%s@%d", p.Backup, p.Revision)
}

func lossOf(v View) *v1beta1.QuorumLossBackup {
	if v.Cluster.Status.QuorumLoss == nil {
		return nil
	}
	return v.Cluster.Status.QuorumLoss.Backup
}

// isNamed says whether the spec of the cluster still names the loss.
func isNamed(v View) bool { return v.Cluster.Spec.Recovery.AcceptDataLoss == accepts(v.Restore) }

// isWithdrawn says whether what has begun is to be given up before any member is stopped: the loss is no longer accepted, or the quorum
// is there again. Only a quorum that serves counts: that the loss is not reported for a moment proves nothing.
func isWithdrawn(v View, p *v1beta1.RestoreStatus) bool {
	if !isOwn(v) || p.RestoredAt != nil || v.Restore.Spec.Confirm != "" {
		return false
	}
	return !isNamed(v) || serves(v)
}

func serves(v View) bool {
	return v.Cluster.Status.QuorumLoss == nil && meta.IsStatusConditionTrue(v.Cluster.Status.Conditions, v1beta1.ConditionAvailable)
}

// unaccepted says why the operator's own EtcdRestore does not begin, and what to do.
func unaccepted(v View) string {
	why := fmt.Sprintf("%s is not what the cluster offers now", accepts(v.Restore))
	switch {
	case v.Cluster.Status.QuorumLoss == nil:
		why = "quorum of the cluster is not known to be lost for good"
	case !isNamed(v):
		why = fmt.Sprintf("spec.recovery.acceptDataLoss of the cluster is not %q", accepts(v.Restore))
	}
	return fmt.Sprintf("nothing is restored: %s; delete this EtcdRestore, or to restore all the same set spec.confirm to %q", why,
		v.Restore.Status.Preview.Confirm)
}
