// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const (
	// storeSize has room for a backup of 4 GiB, for the database itself, and for as many bytes as the sink is given.
	storeSize = "16Gi"
	// Folders on the volume of a store: that of backups, and the one of the bench, which the operator does not see.
	backupsFolder, benchFolder = "backups", "bench"
)

// newStore creates a store on a volume of its own, both of the same name, and waits until it can be used.
func (b *bench) newStore(ctx context.Context, name string) error {
	at := metav1.ObjectMeta{Name: name, Namespace: b.namespace}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: at, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(storeSize)}},
	}}
	store := &v1beta1.EtcdBackupStore{ObjectMeta: at, Spec: v1beta1.EtcdBackupStoreSpec{
		Volume: &v1beta1.VolumeStore{Claim: name, Path: backupsFolder},
	}}
	for _, object := range []client.Object{claim, store} {
		if err := b.client.Create(ctx, object); err != nil {
			return fmt.Errorf("create %T: %w", object, err)
		}
	}
	return b.says(ctx, v1beta1.ConditionReady, store, func() ([]metav1.Condition, error) { return store.Status.Conditions, nil })
}

// removeStore deletes a store, all EtcdBackups, and the volume with what is stored. The store goes first: it would create
// EtcdBackups again for what lies in it.
func (b *bench) removeStore(ctx context.Context, name string) error {
	at := metav1.ObjectMeta{Name: name, Namespace: b.namespace}
	if err := b.deleted(ctx, &v1beta1.EtcdBackupStore{ObjectMeta: at}); err != nil {
		return err
	}
	if err := b.quiet(ctx); err != nil {
		return err
	}
	if err := b.client.DeleteAllOf(ctx, &v1beta1.EtcdBackup{}, client.InNamespace(b.namespace)); err != nil {
		return fmt.Errorf("delete EtcdBackups: %w", err)
	}
	return b.deleted(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: at})
}

// deleted deletes an object, and waits until it is gone.
func (b *bench) deleted(ctx context.Context, object client.Object) error {
	if err := b.client.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete %s: %w", object.GetName(), err)
	}
	return poll(ctx, object.GetName()+" to be gone", 10*blink, patience, func() (bool, error) {
		err := b.client.Get(ctx, client.ObjectKeyFromObject(object), object)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// says waits until a watch brings an object with a condition that is true. If that does not happen the error quotes the
// condition. Conditions are those of the object as it was brought, or why it is of no use to wait.
func (b *bench) says(ctx context.Context, kind string, object client.Object, conditions func() ([]metav1.Condition, error)) error {
	key := client.ObjectKeyFromObject(object)
	last := metav1.Condition{Message: "it has no condition yet"}
	err := poll(ctx, fmt.Sprintf("%s of %s", kind, key.Name), blink, patience, func() (bool, error) {
		if err := b.seen.Get(ctx, key, object); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		all, err := conditions()
		if found := meta.FindStatusCondition(all, kind); found != nil {
			last = *found
		}
		return last.Status == metav1.ConditionTrue, err
	})
	if err != nil {
		return fmt.Errorf("%w; the last that was seen: %s %s: %s", err, last.Status, last.Reason, last.Message)
	}
	return nil
}

// quiet waits until no Job is left, and none follows: the operator lists a store after each Job that wrote to it.
func (b *bench) quiet(ctx context.Context) error {
	for range 2 {
		err := poll(ctx, "all Jobs to be gone", 10*blink, patience, func() (bool, error) {
			var jobs batchv1.JobList
			err := b.client.List(ctx, &jobs, client.InNamespace(b.namespace))
			return len(jobs.Items) == 0, err
		})
		if err == nil {
			err = resting(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// folderOf is where the volume of a claim is on this machine.
func (b *bench) folderOf(ctx context.Context, claim string) (string, error) {
	var found corev1.PersistentVolumeClaim
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: claim}, &found); err != nil {
		return "", fmt.Errorf("get claim %s: %w", claim, err)
	}
	var volume corev1.PersistentVolume
	if err := b.client.Get(ctx, client.ObjectKey{Name: found.Spec.VolumeName}, &volume); err != nil {
		return "", fmt.Errorf("get volume of claim %s: %w", claim, err)
	}
	folder, err := folderIn(&volume)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "", errors.Join(fmt.Errorf("the volume of claim %s is not on this machine at %s", claim, folder), err)
	}
	return folder, nil
}

// folderIn is the folder of a volume that is one of a node.
func folderIn(volume *corev1.PersistentVolume) (string, error) {
	switch {
	case volume.Spec.Local != nil:
		return volume.Spec.Local.Path, nil
	case volume.Spec.HostPath != nil:
		return volume.Spec.HostPath.Path, nil
	}
	return "", fmt.Errorf("volume %s is no folder of a node, so that it cannot be measured alone", volume.Name)
}

// workplaceOn makes the folder of the bench on a volume.
func workplaceOn(volume string) (string, error) {
	folder := filepath.Join(volume, benchFolder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make a folder on the volume: %w", err)
	}
	return folder, nil
}

// timed says how long something takes.
func timed(do func() error) (time.Duration, error) {
	begin := time.Now()
	err := do()
	return time.Since(begin), err
}
