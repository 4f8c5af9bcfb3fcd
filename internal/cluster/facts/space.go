// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// space records what is to be known of the room in members' databases and on their volumes.
func (j *builder) space() {
	j.v.Space = j.wantedSpace()
	for name, pod := range j.pods {
		m := j.member(name)
		chosen := j.v.Record.Defragmenting
		isChosen := chosen.Member == name
		m.Pod.Defragments = specs.IsDefragmenting(pod) && !(isChosen && chosen.Pod == m.Pod.UID)
		m.Pod.Quota = specs.QuotaOf(pod)
		has := j.capacity(name)
		m.Room = cluster.Room{
			Volume: has, Files: v1beta1.UsableRoom(has), Log: v1beta1.LogRoom(has), Copied: v1beta1.DefaultQuota(has),
		}
		last := lastDefragmentation(j.c, name)
		m.Defragmented = cluster.Defragmented{At: last.Time.Unix(), Failed: last.Failure != "", Request: last.Request}
		if isChosen && !m.Pod.Defragments || !isChosen && m.Pod.Defragments && m.Pod.Failing {
			m.Pod.Change = cluster.Rebuild
		}
	}
}

// wantedSpace is what the spec says of it.
func (j *builder) wantedSpace() cluster.Space {
	c, d := j.c, j.c.Spec.Maintenance.Defragmentation
	size, given := c.VolumeSize(), ptr.Deref(c.Status.VolumeSize, resource.Quantity{})
	largest := ptr.Deref(c.Spec.Storage.AutoGrow, v1beta1.AutoGrow{}).MaxSize
	return cluster.Space{
		Defragments: c.Defragments(), InWindow: isOpen(d.Window, j.Now), BackingUp: j.BackingUp,
		LeastFree: d.LeastFree(), FreePercent: int64(d.FreePercent), QuotaPercent: int64(d.QuotaPercent),
		Volume: size.Value(), Given: given.Value(), GivenLog: v1beta1.LogRoom(given.Value()), MaxVolume: largest.Value(),
		QuotaGrows: c.Spec.Etcd.Quota == nil && c.QuotaBytes() < v1beta1.MaxQuota.Value(),
	}
}

// capacity is how large the volume of a member is, or its emptyDir may be; 0 if that is not known.
func (j *builder) capacity(member string) int64 {
	if j.v.Want.Ephemeral {
		size := j.c.VolumeSize()
		return size.Value()
	}
	for i := range j.Volumes {
		if claim := &j.Volumes[i]; claim.Name == member {
			size := claim.Status.Capacity[corev1.ResourceStorage]
			return size.Value()
		}
	}
	return 0
}

// mayDefragment says whether it has to be known whether a backup goes on: something of a member's database is free, or a person asks.
func mayDefragment(s Snapshot) bool {
	isFree := func(a *Answer) bool { return a.Err == nil && a.Status.DBSize > a.Status.DBSizeInUse }
	return s.Cluster.Annotations[v1beta1.AnnotationDefragment] != "" || slices.ContainsFunc(s.Answers, isFree)
}

// BackingUp is the backup of the cluster that goes on, of those of its namespace; empty if none does. Before etcd 3.5.23 and 3.6.5 a
// snapshot beside a defragmentation could be torn (https://github.com/etcd-io/etcd/blob/main/CHANGELOG/CHANGELOG-3.6.md#v365-2025-09-19).
func BackingUp(c *v1beta1.EtcdCluster, backups []v1beta1.EtcdBackup) string {
	for i := range backups {
		if b := &backups[i]; b.Spec.Cluster == c.Name && b.Status.Phase == v1beta1.BackupRunning {
			return b.Name
		}
	}
	return ""
}

func lastDefragmentation(c *v1beta1.EtcdCluster, member string) v1beta1.MemberDefragmentation {
	for _, m := range c.Status.Members {
		if m.Name == member && m.LastDefragmentation != nil {
			return *m.LastDefragmentation
		}
	}
	return v1beta1.MemberDefragmentation{}
}
