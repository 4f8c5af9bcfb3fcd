// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// SnapshotGroup is the group of the API of VolumeSnapshots, and SnapshotKind their kind.
const (
	SnapshotGroup = "snapshot.storage.k8s.io"
	SnapshotKind  = "VolumeSnapshot"
)

// Copy is a volume that is made of a VolumeSnapshot, and is deleted with the Pod that reads it.
type Copy struct {
	Snapshot     string // name of the VolumeSnapshot
	StorageClass string // empty: the default one
	Size         resource.Quantity
	Database     resource.Quantity // that is in it, as far as is known
}

// CopyOf is the volume that is made of a VolumeSnapshot with a database of about that size.
func CopyOf(s *v1beta1.VolumeSnapshotReference, database *resource.Quantity) Copy {
	return Copy{
		Snapshot: s.Name, StorageClass: s.StorageClass, Size: s.Size, Database: ptr.Deref(database, resource.Quantity{}),
	}
}

// copied mounts the volume where a trial has its scratch room: what is written to it is thrown away.
func (p *pod) copied(from Copy) {
	claim := corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: from.Size}},
		DataSource:  &corev1.TypedLocalObjectReference{APIGroup: ptr.To(SnapshotGroup), Kind: SnapshotKind, Name: from.Snapshot},
	}
	if from.StorageClass != "" {
		claim.StorageClassName = &from.StorageClass
	}
	p.mount("scratch", jobspec.ScratchFolder, corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claim},
	}})
}

// started has an etcd run on the volume: one container ends the log of the member that had it, as if the member had been elected, and the
// etcd applies that. What asks the etcd gets the certificates by which it is root there.
func (p *pod) started(rescue jobspec.Order, etcdImage string, from Copy) {
	ending := p.container(Container(jobspec.Rescue), rescue)
	mapping(&ending, from.Database)
	p.spec.InitContainers = []corev1.Container{ending, rescued(etcdImage, from.Database)}
	p.mounts = append(p.mounts, corev1.VolumeMount{
		Name: "scratch", MountPath: jobspec.ClientFolder, SubPath: jobspec.ScratchClient, ReadOnly: true,
	})
}

// VerifySnapshot starts an etcd on a volume that is made of a VolumeSnapshot, and asks it. The cluster may be gone (nil).
func VerifySnapshot(
	b *v1beta1.EtcdBackup, ec *v1beta1.EtcdCluster, name string, rescue, verify jobspec.Order, etcdImage string, from Copy, image Image,
) *batchv1.Job {
	p := newPod(v1beta1.EtcdBackupStoreSpec{}, image)
	p.copied(from)
	p.started(rescue, etcdImage, from)
	if ec != nil {
		like := specs.Scheduling(ec, map[string]string{v1beta1.LabelBackup: b.Name})
		p.spec.NodeSelector, p.spec.Tolerations, p.spec.PriorityClassName = like.NodeSelector, like.Tolerations, like.PriorityClassName
	}
	p.run(Container(jobspec.Verify), verify)
	return p.job(b.Namespace, name, owner(b, "EtcdBackup"), labelsOf(jobspec.Verify, "", v1beta1.LabelBackup, b.Name))
}

// RestoreSnapshot makes the data directory of one member on its volume, of what an etcd serves that runs on a volume made of a
// VolumeSnapshot.
func RestoreSnapshot(ec *v1beta1.EtcdCluster, member string, rescue, order jobspec.Order, etcdImage string, image Image) *batchv1.Job {
	p := newPod(v1beta1.EtcdBackupStoreSpec{}, image.Of(ec))
	from := CopyOf(ec.Status.Restore.VolumeSnapshot, ec.Status.Restore.DatabaseSize)
	p.copied(from)
	p.started(rescue, etcdImage, from)
	p.filling(ec, member)
	p.run(Container(jobspec.Restore), order)
	keeping(&p.spec.Containers[0], ptr.Deref(ec.Status.Restore.DatabaseSize, mostKept), mostKept.DeepCopy())
	labels := labelsOf(jobspec.Restore, "", LabelRestores, ec.Name, v1beta1.LabelMember, member)
	return p.job(ec.Namespace, RestoreName(member), specs.Owner(ec), labels)
}
