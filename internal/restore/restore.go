// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package restore decides how a cluster is restored. It has two lists of rules, which meet in status.restore of the EtcdCluster:
//
//   - Those of an EtcdRestore (Next) say what the restore would do, wait until that is confirmed, have a safety backup made, and then write
//     the plan into status.restore. From then on they only say how far the cluster is, until the restore is to be undone.
//   - Those of the volumes (NextOfVolumes) carry out the plan: they create a volume for each new member, and Jobs that fill the volumes.
//     A cluster with bootstrap.restore begins with them: there is no EtcdRestore, and they make the plan themselves. They cancel the
//     plan of an EtcdRestore that is deleted before all volumes have the data.
//
// Members are replaced by the rules of the cluster (internal/cluster/plan), once all volumes have the data. A cluster that begins with a
// backup adopts its volumes then, as it adopts volumes that were kept (docs/adr/0029-restores-make-volumes.md). Both lists choose the
// backup (Choose) and make the plan (newPlan) in the same way. The same view always gives the same step.
//
// It must never import a client, a clock, a logger or a context, never decide what happens to a member, and never touch a volume that
// was not made for the restore.
package restore

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// startPoint is where a restored cluster begins.
type startPoint struct {
	Serial int   // number in the name of its first member
	Seen   int64 // highest revision that clients are known to have seen; 0: none is known
	Now    time.Time
}

// newPlan is what is restored, fixed before the first volume is made.
func newPlan(want Request, what source, start startPoint) v1beta1.RestoreStatus {
	c, b, of := want.Cluster, what.backup, what.backup.Status
	s := v1beta1.RestoreStatus{
		Store: of.Store, Path: of.Path, VolumeSnapshot: of.VolumeSnapshot.DeepCopy(),
		Backup: b.Name, ManifestSHA256: of.ManifestSHA256, Revision: what.revision, Log: what.log.DeepCopy(),
		Bump: bump(what.revision, start.Seen, began(b), start.Now), Keys: what.keys, DatabaseSize: of.DatabaseSize, Time: what.time,
		Version: version.Begin(of.EtcdVersion, version.Full(c.Spec.Version)), Progress: "the volumes to be created",
		Verified: of.ManifestSHA256 != "" && of.Verified != nil && meta.IsStatusConditionTrue(of.Conditions, v1beta1.ConditionVerified),
	}
	if from := want.Decryption; from != nil && (of.Encrypted || what.log != nil) {
		s.Decryption = from.Secret
	}
	for i := range c.Size() {
		s.Members = append(s.Members, cluster.MemberName(c.Name, start.Serial+i))
	}
	return s
}

func began(b *v1beta1.EtcdBackup) time.Time {
	if b.Status.StartedAt == nil {
		return time.Time{}
	}
	return b.Status.StartedAt.Time
}

// reversed is the plan of an undo: the members that were replaced, or were to be, are chosen, and replace those of the restore.
func reversed(s *v1beta1.RestoreStatus, progress string) v1beta1.RestoreStatus {
	turned := *s.DeepCopy()
	turned.Undo, turned.Members, turned.SetAside = true, s.SetAside, s.Members
	turned.CompletedAt, turned.Progress, turned.Problem, turned.Failure = nil, progress, "", nil
	return turned
}
