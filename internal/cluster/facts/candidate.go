// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// mayBeLost says whether quorum may be lost for good, so that it has to be known which backups there are: the cluster has formed, and
// no member has a list that was read with quorum.
func mayBeLost(s Snapshot) bool { return s.Cluster.Status.ClusterID != "" && s.List == nil }

// acceptedName is the EtcdRestore that is to be read: the one for a loss that was accepted by the name of a backup; empty if none was.
func acceptedName(c *v1beta1.EtcdCluster) string {
	return cluster.AcceptedName(c.Name, string(c.UID), c.Spec.Recovery.AcceptDataLoss)
}

// offer is the backup that the cluster can be brought back to, and the state of the EtcdRestore for that.
func offer(s Snapshot) cluster.RestoreCandidate {
	o := cluster.RestoreCandidate{Request: request(s)}
	b := newestVerified(s)
	if b == nil {
		return o
	}
	o.Backup, o.Revision, o.Begun = b.Name, b.Status.Revision, b.Status.StartedAt.Unix()
	o.Encrypted = b.Status.Encrypted
	want := restore.Request{Restore: v1beta1.Restore{Backup: b.Name}, Cluster: s.Cluster, InPlace: true}
	_, o.Problem = restore.Choose(want, s.Backups, nil)
	return o
}

// newestVerified is the newest verified backup of the data that the cluster has. One of an earlier cluster of its name, or of this one
// before it was restored, has revisions that cannot be compared with those of now: only a person may choose it.
func newestVerified(s Snapshot) *v1beta1.EtcdBackup {
	var all []*v1beta1.EtcdBackup
	for i := range s.Backups {
		if b := &s.Backups[i]; isOffered(s.Cluster, b) {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return v1beta1.NewestFirst(all, v1beta1.AgeOf)[0].Backup
}

func isOffered(c *v1beta1.EtcdCluster, b *v1beta1.EtcdBackup) bool {
	return b.Status.ClusterUID == string(c.UID) && b.Status.ClusterID == c.Status.ClusterID && c.Status.ClusterID != "" &&
		b.DeletionTimestamp == nil && b.Status.StartedAt != nil && restore.IsComplete(b) &&
		meta.IsStatusConditionTrue(b.Status.Conditions, v1beta1.ConditionVerified)
}

// request is the EtcdRestore that the operator makes, or has made, because the loss was accepted by the name of a backup.
func request(s Snapshot) cluster.Request {
	c, er := s.Cluster, s.Accepted
	r := cluster.Request{Name: acceptedName(c)}
	if r.Name == "" {
		return r
	}
	r.Fills = c.IsRestoring() && !isReplacing(c) && c.Status.Restore.Request == r.Name
	if er == nil {
		return r
	}
	r.Exists = true
	r.Foreign = er.Annotations[v1beta1.AnnotationClusterUID] != string(c.UID) ||
		er.Annotations[v1beta1.AnnotationAccepted] != c.Spec.Recovery.AcceptDataLoss
	switch er.Status.Phase {
	case v1beta1.RestoreComplete, v1beta1.RestoreUndone:
		r.Ended = true
	case v1beta1.RestorePending, v1beta1.RestorePreviewed:
		r.Message = er.Status.Message
	case v1beta1.RestoreBackingUp, v1beta1.RestoreRunning, v1beta1.RestoreUndoing:
	}
	return r
}
