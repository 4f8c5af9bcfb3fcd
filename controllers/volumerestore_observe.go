// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/restore"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// observe reads from the API server what a restore depends on.
func (r *VolumeRestoreReconciler) observe(ctx context.Context, key types.NamespacedName) (volumesLook, error) {
	var c v1beta1.EtcdCluster
	err := r.client.Get(ctx, key, &c)
	if err == nil && !isOver(&c) {
		err = r.tasks.Live.Get(ctx, key, &c)
	}
	if err != nil {
		return volumesLook{}, gone("get EtcdCluster", err)
	}
	if isOver(&c) || !r.isOurs(&c) {
		return volumesLook{}, errIdle
	}
	look := volumesLook{VolumesView: restore.VolumesView{
		Cluster: &c, Paused: facts.Paused(&c), Forbidden: r.limits.Forbidden(&c), Now: r.now(),
		Claims: map[string]corev1.PersistentVolumeClaim{}, Jobs: map[string]jobs.Observed{},
	}}
	look.image, look.NoImage = r.image.Get(ctx)
	view := &look.VolumesView
	if c.Status.Restore == nil || c.Status.Restore.Path == "" {
		var all v1beta1.EtcdBackupList
		if err := r.client.List(ctx, &all, client.InNamespace(c.Namespace)); err != nil {
			return look, fmt.Errorf("list EtcdBackups: %w", err)
		}
		view.Backups = all.Items
	}
	err = errors.Join(r.claims(ctx, view), r.pods(ctx, view), r.store(ctx, view), r.search(ctx, view))
	if err != nil || c.Status.Restore == nil || c.Status.Restore.Path == "" {
		return look, err
	}
	view.ClusterID, err = clusterID(&c)
	return look, errors.Join(err, r.request(ctx, view), r.secret(ctx, view), r.jobs(ctx, view), r.hashes(ctx, view))
}

// claims reads all volumes whose names a member could have.
func (r *VolumeRestoreReconciler) claims(ctx context.Context, view *restore.VolumesView) error {
	var all corev1.PersistentVolumeClaimList
	if err := r.tasks.Live.List(ctx, &all, client.InNamespace(view.Cluster.Namespace)); err != nil {
		return fmt.Errorf("list volumes: %w", err)
	}
	for _, claim := range all.Items {
		if cluster.Serial(view.Cluster.Name, claim.Name) >= 0 {
			view.Claims[claim.Name] = claim
		}
	}
	return nil
}

// pods reads which members have Pods.
func (r *VolumeRestoreReconciler) pods(ctx context.Context, view *restore.VolumesView) error {
	c := view.Cluster
	var all corev1.PodList
	if err := r.tasks.Live.List(ctx, &all, client.InNamespace(c.Namespace), client.MatchingLabels(specs.MemberSelector(c))); err != nil {
		return fmt.Errorf("list Pods: %w", err)
	}
	view.Beside = map[string]restore.Beside{}
	for i := range all.Items {
		pod := &all.Items[i]
		view.Pods = append(view.Pods, pod.Name)
		if s := c.Status.Restore; c.IsRestoring() && !s.Undo && slices.Contains(s.Members, pod.Name) {
			view.Beside[pod.Name] = restore.Beside{
				Ready:         hasCondition(pod, corev1.PodReady, corev1.ConditionTrue),
				Unschedulable: hasCondition(pod, corev1.PodScheduled, corev1.ConditionFalse),
			}
		}
	}
	return nil
}

func hasCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind && c.Status == status })
}

// hashing is how long the members may take to sum up their data, one after the other. A sum that cannot be read holds up no restore: each
// volume has got what the manifest of the backup says.
const hashing = time.Minute

// hashes compares the data of the members that serve beside those that they are to replace, once all of them do.
func (r *VolumeRestoreReconciler) hashes(ctx context.Context, view *restore.VolumesView) error {
	s := view.Cluster.Status.Restore
	if s.RestoredAt != nil || view.Paused != "" || len(view.Beside) < len(s.Members) {
		return nil
	}
	for _, pod := range view.Beside {
		if !pod.Ready {
			return nil
		}
	}
	next := view.Cluster.DeepCopy()
	next.Status.ClusterID = view.ClusterID
	ctx, cancel := context.WithTimeout(ctx, hashing)
	defer cancel()
	var revision int64
	for _, name := range s.Members {
		hash := cluster.Hash{Member: name}
		if err := r.hash(ctx, next, &hash, &revision); err != nil {
			hash.Unread = err.Error()
		}
		view.Hashes = append(view.Hashes, hash)
	}
	return nil
}

// hash is that of one member's data up to the revision, which is that of the first one that is asked.
func (r *VolumeRestoreReconciler) hash(ctx context.Context, next *v1beta1.EtcdCluster, into *cluster.Hash, revision *int64) error {
	member, err := r.asked.Named(ctx, next, into.Member)
	if err != nil {
		return err //nolint:wrapcheck // it says who is asked
	}
	if *revision == 0 {
		if *revision, err = member.Revision(ctx); err != nil {
			return err //nolint:wrapcheck // it says what was asked
		}
	}
	sum, err := member.HashKV(ctx, *revision)
	into.Revision, into.Sum, into.Compacted = *revision, sum.Sum, sum.Compacted
	return err //nolint:wrapcheck // so, too
}

// store reads the store of the backup, or the one that a backup is looked for in.
func (r *VolumeRestoreReconciler) store(ctx context.Context, view *restore.VolumesView) error {
	var name string
	switch c := view.Cluster; {
	case c.Status.Restore != nil && c.Status.Restore.Path != "":
		name = c.Status.Restore.Store
	case restore.IsWanted(c):
		name = c.Spec.Bootstrap.Restore.Store
		if name == "" && c.Spec.Bootstrap.Restore.Target != nil {
			name = storeOf(view.Backups, c.Spec.Bootstrap.Restore.Backup)
		}
	}
	if name == "" {
		return nil
	}
	var store v1beta1.EtcdBackupStore
	err := r.client.Get(ctx, client.ObjectKey{Namespace: view.Cluster.Namespace, Name: name}, &store)
	if apierrors.IsNotFound(err) {
		return nil
	}
	view.Store = &store
	return wrapped("get EtcdBackupStore", err)
}

// request reads the EtcdRestore that has requested a restore in place, from the API server: a cache may not show a new one yet. Once
// all volumes have the data nothing depends on it.
func (r *VolumeRestoreReconciler) request(ctx context.Context, view *restore.VolumesView) error {
	s := view.Cluster.Status.Restore
	if s.Request == "" || s.Undo || s.RestoredAt != nil {
		return nil
	}
	var er v1beta1.EtcdRestore
	err := r.tasks.Live.Get(ctx, client.ObjectKey{Namespace: view.Cluster.Namespace, Name: s.Request}, &er)
	if apierrors.IsNotFound(err) {
		return nil
	}
	view.Request = &er
	return wrapped("get EtcdRestore "+s.Request, err)
}

// secret reads whether the Secret with identities is there, and nothing of what is in it: a Pod that lacks it does not say why it waits.
func (r *VolumeRestoreReconciler) secret(ctx context.Context, view *restore.VolumesView) error {
	name := view.Cluster.Status.Restore.Decryption
	if name == "" {
		return nil
	}
	there := metav1.PartialObjectMetadata{}
	there.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.tasks.Live.Get(ctx, client.ObjectKey{Namespace: view.Cluster.Namespace, Name: name}, &there)
	if apierrors.IsNotFound(err) {
		view.NoSecret = name
		return nil
	}
	return wrapped("get Secret "+name, err)
}

func (r *VolumeRestoreReconciler) jobs(ctx context.Context, view *restore.VolumesView) error {
	s := view.Cluster.Status.Restore
	members := s.Members
	if s.Undo {
		members = s.SetAside
	}
	for _, member := range members {
		job, err := r.tasks.Observe(ctx, view.Cluster, jobs.RestoreName(member))
		if err != nil {
			return err
		}
		if job.Exists {
			view.Jobs[member] = job
		}
	}
	return nil
}

// clusterID follows from the first members and the token.
func clusterID(c *v1beta1.EtcdCluster) (string, error) {
	id, err := datadir.ClusterID(peers(c), restore.Token(c))
	if err != nil {
		return "", fmt.Errorf("derive the cluster's ID: %w", err)
	}
	return strconv.FormatUint(id, 16), nil
}

func peers(c *v1beta1.EtcdCluster) map[string]string {
	urls := map[string]string{}
	for _, member := range c.Status.Restore.Members {
		urls[member] = specs.PeerURL(c, member)
	}
	return urls
}
