// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusters "github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// backsUpAndRestores: a backup on a volume is verified, and the cluster is brought back to it in place.
func backsUpAndRestores(ctx context.Context, w *world) error {
	c, err := w.newCluster(ctx, 1)
	if err != nil {
		return err
	}
	if err := w.newStore(ctx); err != nil {
		return err
	}
	backup := &clusters.EtcdBackup{
		ObjectMeta: metav1.ObjectMeta{Name: w.name},
		Spec:       clusters.EtcdBackupSpec{Cluster: c.Name, Store: w.name},
	}
	if err := w.create(ctx, backup); err != nil {
		return err
	}
	err = w.says(ctx, backup, clusters.ConditionVerified, func() []metav1.Condition { return backup.Status.Conditions })
	if err != nil {
		return err
	}
	if err := w.restore(ctx, c, backup); err != nil {
		return err
	}
	return w.settles(ctx, c)
}

// newStore makes a store on a volume, and waits until it can be used.
func (w *world) newStore(ctx context.Context) error {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: w.name}, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("256Mi")}},
	}}
	store := &clusters.EtcdBackupStore{
		ObjectMeta: metav1.ObjectMeta{Name: w.name},
		Spec:       clusters.EtcdBackupStoreSpec{Volume: &clusters.VolumeStore{Claim: w.name}},
	}
	for _, object := range []client.Object{claim, store} {
		if err := w.create(ctx, object); err != nil {
			return err
		}
	}
	return w.says(ctx, store, clusters.ConditionReady, func() []metav1.Condition { return store.Status.Conditions })
}

// restore confirms what the preview says, and waits until that is done.
func (w *world) restore(ctx context.Context, c *clusters.EtcdCluster, backup *clusters.EtcdBackup) error {
	er := &clusters.EtcdRestore{
		ObjectMeta: metav1.ObjectMeta{Name: w.name},
		Spec:       clusters.EtcdRestoreSpec{Cluster: c.Name, Backup: backup.Name, SkipSafetyBackup: true}, // leave nothing behind
	}
	if err := w.create(ctx, er); err != nil {
		return err
	}
	conditions := func() []metav1.Condition { return er.Status.Conditions }
	if err := w.says(ctx, er, clusters.ConditionPreviewed, conditions); err != nil {
		return err
	}
	before := client.MergeFrom(er.DeepCopy())
	er.Spec.Confirm = er.Status.Preview.Confirm
	if err := w.api.Patch(ctx, er, before); err != nil {
		return fmt.Errorf("confirm %s: %w", er.Name, err)
	}
	return w.says(ctx, er, clusters.ConditionComplete, conditions)
}

// says waits until a condition of an object is true, and reads the object.
func (w *world) says(ctx context.Context, object client.Object, kind string, conditions func() []metav1.Condition) error {
	return w.until(ctx, fmt.Sprintf("%T %s to be %s", object, object.GetName(), kind), func() (string, error) {
		if err := w.api.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return "", err
		}
		found := meta.FindStatusCondition(conditions(), kind)
		switch {
		case found == nil:
			return "it does not say so yet", nil
		case found.Status != metav1.ConditionTrue:
			return found.Reason + ": " + found.Message, nil
		}
		return "", nil
	})
}
