// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/members"
	"github.com/etcd-operator/etcd-operator/internal/backup"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// snapshot reads the VolumeSnapshot of a backup, and what the member has whose volume is taken next, past all caches: Kubernetes may have
// no VolumeSnapshots, and what it does not have cannot be watched.
func (r *EtcdBackupReconciler) snapshot(ctx context.Context, b *v1beta1.EtcdBackup, seen *backup.Seen) error {
	if b.Spec.VolumeSnapshot == nil {
		return nil
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(backup.SnapshotKind)
	name := backup.SnapshotName(b)
	if name == "" {
		name = b.Name // whether there can be any
	}
	switch err := r.tasks.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, u); {
	case meta.IsNoMatchError(err):
		seen.NoSnapshots = fmt.Sprintf("the CRDs of %s are not installed; install them with the snapshot controller and a CSI driver",
			backup.SnapshotKind.Group)
	case err == nil && name == backup.SnapshotName(b):
		seen.Snapshot = u
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("get VolumeSnapshot %s: %w", name, err)
	}
	if seen.Cluster == nil || seen.NoSnapshots != "" || !backup.NeedsSource(*seen) {
		return nil
	}
	var err error
	seen.Source, err = r.source(ctx, seen)
	return err
}

// source is the first member that serves and has a volume. That none answers is a fact.
func (r *EtcdBackupReconciler) source(ctx context.Context, seen *backup.Seen) (backup.Source, error) {
	c := seen.Cluster
	var failed error
	for _, name := range backup.Sources(c) {
		var claim corev1.PersistentVolumeClaim
		err := r.tasks.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &claim)
		if client.IgnoreNotFound(err) != nil {
			return backup.Source{}, fmt.Errorf("get volume: %w", err)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s has no volume", name))
			continue
		}
		from := backup.Source{
			Member: name, At: r.now(), StorageClass: ptr.Deref(claim.Spec.StorageClassName, ""),
			Size: ptr.To(claim.Status.Capacity[corev1.ResourceStorage]).String(),
		}
		member, err := r.asked.Named(ctx, c, name)
		if err == nil {
			from.Revision, err = members.Within(ctx, member.Revision)
		}
		var status etcd.Status
		if err == nil {
			status, err = members.Within(ctx, member.Status)
		}
		if err == nil {
			from.Version, from.Database = status.Version, status.DBSize
			return from, nil
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
	}
	if failed == nil {
		return backup.Source{Problem: "no voter serves"}, nil
	}
	return backup.Source{Problem: shortened(failed.Error())}, nil
}

func (r *EtcdBackupReconciler) takeSnapshot(ctx context.Context, v backup.View, step backup.CreateSnapshot) error {
	if err := r.tasks.Leading(ctx); err != nil {
		return err
	}
	// No cache has VolumeSnapshots that could show the write.
	err := r.client.Create(ctx, backup.VolumeSnapshot(v, step), client.FieldOwner(v1beta1.FieldOwner), client.DisableReadYourWritesConsistency)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return wrapped("create VolumeSnapshot "+step.Name, err)
}

func (r *EtcdBackupReconciler) deleteSnapshot(ctx context.Context, namespace string, step backup.DeleteSnapshot) error {
	if err := r.tasks.Leading(ctx); err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(backup.SnapshotKind)
	u.SetNamespace(namespace)
	u.SetName(step.Name)
	err := r.client.Delete(ctx, u, client.Preconditions{UID: ptr.To(types.UID(step.UID))}, client.DisableReadYourWritesConsistency)
	return wrapped("delete VolumeSnapshot "+step.Name, client.IgnoreNotFound(err))
}
