// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package jobs makes the Jobs of backups: pure functions from an object and an order to a Job.
//
// It must never hold a client or put a secret into an argument or a variable: keys are mounted as files.
package jobs

import (
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// Image is what Jobs run: the operator's own image, and what its administrator says about all of them.
type Image struct {
	Proxy       []corev1.EnvVar // variables by which stores are reached through a proxy
	Endpoints   []string        // that stores may send tokens to, besides those of their providers (objectstore.Endpoints)
	Operator    string
	PullSecrets []corev1.LocalObjectReference // of the Job's namespace; none: those of its ServiceAccount
	PullPolicy  corev1.PullPolicy
}

// Of is the image with the pull secrets of the cluster that a Job is about, which may be gone (nil), beside those of all Jobs.
func (i Image) Of(c *v1beta1.EtcdCluster) Image {
	if c == nil {
		return i
	}
	all := slices.Clone(i.PullSecrets)
	for _, secret := range c.PullSecrets() {
		if !slices.Contains(all, secret) {
			all = append(all, secret)
		}
	}
	i.PullSecrets = all
	return i
}

// nonroot is the user of members (internal/cluster/specs): what a restore writes, etcd must be able to change.
const nonroot = 65532

// A Job that hangs must end by itself one day. A check is a few requests; the others last as long as the database is large.
const (
	longestCheck = 10 * time.Minute
	longest      = 24 * time.Hour
)

// Check looks at a store.
func Check(store *v1beta1.EtcdBackupStore, name string, order jobspec.Order, image Image) *batchv1.Job {
	p := newPod(store.Spec, image)
	p.run(Container(jobspec.Check), order)
	job := p.job(store.Namespace, name, owner(store, "EtcdBackupStore"), labelsOf(jobspec.Check, store.Name))
	job.Spec.ActiveDeadlineSeconds = ptr.To(int64(longestCheck / time.Second))
	return job
}

// Backup writes a backup.
func Backup(
	b *v1beta1.EtcdBackup, store *v1beta1.EtcdBackupStore, cluster *v1beta1.EtcdCluster, name string, order jobspec.Order, image Image,
) *batchv1.Job {
	p := newPod(store.Spec, image)
	p.client(cluster)
	p.run(Container(jobspec.Backup), order)
	return p.job(b.Namespace, name, owner(b, "EtcdBackup"), labelsOf(jobspec.Backup, store.Name, v1beta1.LabelBackup, b.Name))
}

// Rescue writes a backup of the volume of a member that does not run: one container copies its data, an etcd is started on the copy, and a
// third one makes a backup of that as of any other. The volume is mounted where it is copied, and only to be read.
func Rescue(
	b *v1beta1.EtcdBackup, store *v1beta1.EtcdBackupStore, ec *v1beta1.EtcdCluster, name string, rescue, backup jobspec.Order,
	etcdImage string, scratch resource.Quantity, image Image,
) *batchv1.Job {
	p := newPod(store.Spec, image)
	p.scratch(scratch)
	copying := p.container(Container(jobspec.Rescue), rescue)
	p.spec.Volumes = append(p.spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: b.Spec.Volume},
	}})
	copying.VolumeMounts = append(slices.Clone(p.mounts), corev1.VolumeMount{Name: "data", MountPath: jobspec.MemberFolder, ReadOnly: true})
	mapping(&copying, scratch) // it reads the entries of the log that are not in the database, as etcd does
	p.spec.InitContainers = []corev1.Container{copying, rescued(etcdImage, scratch)}
	p.mounts = append(p.mounts, corev1.VolumeMount{
		Name: "scratch", MountPath: jobspec.ClientFolder, SubPath: jobspec.ScratchClient, ReadOnly: true,
	})
	like := specs.Scheduling(ec, map[string]string{v1beta1.LabelBackup: b.Name})
	p.spec.NodeSelector, p.spec.Tolerations, p.spec.PriorityClassName = like.NodeSelector, like.Tolerations, like.PriorityClassName
	p.run(Container(jobspec.Backup), backup)
	return p.job(b.Namespace, name, owner(b, "EtcdBackup"), labelsOf(jobspec.Backup, store.Name, v1beta1.LabelBackup, b.Name))
}

// Verify restores a backup on trial: one container makes a data directory, an etcd runs on it, and a third one asks it.
func Verify(
	b *v1beta1.EtcdBackup, store *v1beta1.EtcdBackupStore, name string, unpack, verify jobspec.Order, etcdImage string,
	scratch resource.Quantity, image Image,
) *batchv1.Job {
	p := newPod(store.Spec, image)
	p.identities(unpack.Trial.Identities, b.Spec.Decryption)
	p.scratch(scratch)
	unpacking := p.container(Container(jobspec.Unpack), unpack)
	mapping(&unpacking, scratch)
	p.spec.InitContainers = []corev1.Container{unpacking, trial(etcdImage, scratch)}
	p.run(Container(jobspec.Verify), verify)
	return p.job(b.Namespace, name, owner(b, "EtcdBackup"), labelsOf(jobspec.Verify, store.Name, v1beta1.LabelBackup, b.Name))
}

// Write writes to the members of a cluster for a drill, and measures how that goes.
func Write(d *v1beta1.EtcdDrill, cluster *v1beta1.EtcdCluster, name string, order jobspec.Order, image Image) *batchv1.Job {
	p := newPod(v1beta1.EtcdBackupStoreSpec{}, image.Of(cluster))
	p.client(cluster)
	p.run(Container(jobspec.Write), order)
	labels := specs.DrillSelector()
	labels[specs.ComponentLabel], labels[v1beta1.LabelDrill] = "drill", label(d.Name)
	job := p.job(d.Namespace, name, owner(d, "EtcdDrill"), labels)
	job.Spec.ActiveDeadlineSeconds = ptr.To(int64((order.Write.Lasts + longestCheck) / time.Second))
	return job
}

// Follow keeps the log of a cluster until it is deleted: no deadline ends it.
func Follow(ec *v1beta1.EtcdCluster, store *v1beta1.EtcdBackupStore, order jobspec.Order, image Image) *batchv1.Job {
	p := newPod(store.Spec, image.Of(ec))
	p.client(ec)
	p.run(Container(jobspec.Follow), order)
	p.spec.Containers[0].Resources.Limits = most(logging(order.Follow.SegmentSize))
	p.spec.TerminationGracePeriodSeconds = ptr.To(int64(jobspec.FollowGrace / time.Second))
	p.spec.Tolerations = stay(corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable)
	job := p.job(ec.Namespace, FollowName(ec.Name), specs.Owner(ec), labelsOf(jobspec.Follow, store.Name, v1beta1.LabelLogs, ec.Name))
	job.Spec.ActiveDeadlineSeconds = nil
	return job
}

// stay has a Pod stay on a node with such a taint for half a minute. Kubernetes' default is five: kube-apiserver compacts what is older.
func stay(taints ...string) (all []corev1.Toleration) {
	for _, taint := range taints {
		all = append(all, corev1.Toleration{
			Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](30),
		})
	}
	return all
}

// FollowName is the name of the Job that keeps the log of a cluster.
func FollowName(cluster string) string { return cluster + "-log" }

// Delete removes a backup from its store.
func Delete(b *v1beta1.EtcdBackup, store *v1beta1.EtcdBackupStore, name string, order jobspec.Order, image Image) *batchv1.Job {
	p := newPod(store.Spec, image)
	p.run(Container(jobspec.Delete), order)
	return p.job(b.Namespace, name, owner(b, "EtcdBackup"), labelsOf(jobspec.Delete, store.Name, v1beta1.LabelBackup, b.Name))
}

// Restore makes the data directory of one member on its volume.
func Restore(ec *v1beta1.EtcdCluster, store *v1beta1.EtcdBackupStore, member string, order jobspec.Order, image Image) *batchv1.Job {
	p := newPod(store.Spec, image.Of(ec))
	if restore := ec.Status.Restore; restore != nil && restore.Decryption != "" {
		p.identities(true, &v1beta1.SecretReference{Secret: restore.Decryption})
	}
	p.filling(ec, member)
	labels := labelsOf(jobspec.Restore, store.Name, LabelRestores, ec.Name, v1beta1.LabelMember, member)
	p.run(Container(jobspec.Restore), order)
	if restore := ec.Status.Restore; restore != nil {
		replays := order.Restore != nil && order.Restore.Target != nil
		keeping(&p.spec.Containers[0], ptr.Deref(restore.SizeAfterLog(), mostKept), mostOf(ec, replays))
		if replays {
			replaying(&p.spec.Containers[0])
		}
	}
	return p.job(ec.Namespace, RestoreName(member), specs.Owner(ec), labels)
}

// Locate finds the target of a restore in the log. Its owner is the EtcdRestore, or the EtcdCluster that begins with it.
func Locate(
	by metav1.Object, kind string, ec *v1beta1.EtcdCluster, store *v1beta1.EtcdBackupStore, order jobspec.Order,
	decryption *v1beta1.SecretReference, image Image,
) *batchv1.Job {
	with := image.Of(ec)
	p := newPod(store.Spec, with)
	p.identities(order.Locate.Identities, decryption)
	p.run(Container(jobspec.Locate), order)
	p.spec.Containers[0].Resources.Limits = most(searching)
	labels := labelsOf(jobspec.Locate, store.Name, LabelRestores, ec.Name)
	return p.job(by.GetNamespace(), LocateName(by.GetName(), kind), owner(by, kind), labels)
}

// LocateName is the name of that Job. An EtcdRestore and its EtcdCluster may have one name.
func LocateName(owner, kind string) string {
	if kind == "EtcdRestore" {
		return owner + "-target"
	}
	return owner + "-bootstrap"
}

// filling mounts the volume of a member that is to be filled. The Pod is scheduled as the member is, because a volume may be made where its
// first Pod runs, and stay there.
func (p *pod) filling(ec *v1beta1.EtcdCluster, member string) {
	p.mount("data", jobspec.MemberFolder, corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: member},
	})
	like := specs.Scheduling(ec, map[string]string{LabelRestores: ec.Name})
	p.spec.NodeSelector, p.spec.Affinity, p.spec.Tolerations = like.NodeSelector, like.Affinity, like.Tolerations
	p.spec.PriorityClassName, p.spec.TopologySpreadConstraints = like.PriorityClassName, like.TopologySpreadConstraints
}

// LabelRestores holds, on the Job and Pod of a restore, the name of the EtcdCluster. It is another label than the one of
// the members' Pods, for which Services, disruption budgets and the operator would take it.
const LabelRestores = "etcd-operator.dev/restores"

// RestoreName is the name of the Job that restores a member.
func RestoreName(member string) string { return member + "-restore" }

// Container is the name of the container that carries out a verb, and whose log has its lines.
func Container(verb jobspec.Verb) string { return string(verb) }

// ServiceAccount is that of the Jobs where a store names none. Nothing is granted to it.
func ServiceAccount(namespace string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{
			Name: v1beta1.BackupServiceAccount, Namespace: namespace, Labels: map[string]string{specs.ManagedByLabel: v1beta1.FieldOwner},
		},
		AutomountServiceAccountToken: ptr.To(false),
	}
}

// labelsOf are those of a Job and its Pod: pairs of names and values beside the verb and the store.
func labelsOf(verb jobspec.Verb, store string, more ...string) map[string]string {
	all := map[string]string{
		specs.ManagedByLabel: v1beta1.FieldOwner, specs.ComponentLabel: "backup",
		v1beta1.LabelTask: string(verb), v1beta1.LabelStore: label(store),
	}
	for i := 0; i+1 < len(more); i += 2 {
		all[more[i]] = label(more[i+1])
	}
	return all
}

// label is a name as the value of a label, which has at most 63 characters and ends with a letter or number.
func label(name string) string { return strings.TrimRight(name[:min(len(name), 63)], "-.") }

func owner(object metav1.Object, kind string) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1beta1.OwnerVersion.String(), Kind: kind, Name: object.GetName(), UID: object.GetUID(),
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}
