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
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// isGuarded says whether risky changes wait for a backup.
func isGuarded(c *v1beta1.EtcdCluster) bool {
	return c.Spec.Backup != nil && c.Spec.Upgrade.Backup != v1beta1.SkipBackup
}

// awaitedName is the EtcdBackup that is to be read; empty if there is none.
func awaitedName(c *v1beta1.EtcdCluster) string {
	if awaited := c.Status.AwaitedBackup; awaited != nil && !awaited.Done {
		return awaited.Name
	}
	return ""
}

// awaited is what is known of the backup that something waits for, and of the end of the EtcdCluster.
func awaited(s Snapshot) cluster.Backup {
	c, b := s.Cluster, s.Awaited
	v := cluster.Backup{
		Held: slices.Contains(c.Finalizers, v1beta1.FinalizerLastBackup), Leaving: c.DeletionTimestamp != nil,
		Cascades: slices.Contains(c.Finalizers, metav1.FinalizerDeleteDependents), Orphans: isOrphaned(s),
	}
	if b == nil || b.Annotations[v1beta1.AnnotationClusterUID] != string(c.UID) {
		return v
	}
	v.Exists = true
	complete := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionComplete)
	verified := meta.FindStatusCondition(b.Status.Conditions, v1beta1.ConditionVerified)
	switch {
	case complete == nil || verified == nil:
		v.Why = "it is about to begin"
	case complete.Status != metav1.ConditionTrue:
		v.Why, v.Failed = complete.Message, b.Status.Phase == v1beta1.BackupFailed
	case verified.Status == metav1.ConditionTrue || verified.Reason == v1beta1.ReasonNotWanted:
		v.Good = b.DeletionTimestamp == nil
		v.Why = "it is being deleted"
	default:
		v.Why, v.Failed = verified.Message, b.Status.Phase == v1beta1.BackupComplete
	}
	return v
}

// isOrphaned says whether the EtcdCluster is deleted without what it owns. Kubernetes takes the owner off its Pods, and its finalizer a
// moment later.
func isOrphaned(s Snapshot) bool {
	abandoned := slices.ContainsFunc(s.Pods, func(pod corev1.Pod) bool { return specs.IsAbandoned(s.Cluster, &pod) })
	return slices.Contains(s.Cluster.Finalizers, metav1.FinalizerOrphanDependents) || s.Cluster.DeletionTimestamp != nil && abandoned
}

// before is what must not happen before there is a backup: the end of the cluster, hibernation, or another minor version. While the
// cluster hibernates, the backup that was made before is remembered.
func before(v cluster.View) string {
	hibernates := v.Want.Size == 0 && (v.Count(cluster.HasPod) > 0 || v.Record.Awaited.Before == cluster.BeforeHibernation)
	switch {
	case !v.Formed():
		return ""
	case v.Backup.Leaving && v.Want.Last:
		return cluster.BeforeDeletion
	case v.Want.Guarded && hibernates:
		return cluster.BeforeHibernation
	case v.Want.Size == 0:
		return ""
	default:
		return v.Target.Before
	}
}
