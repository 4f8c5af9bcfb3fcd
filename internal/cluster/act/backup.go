// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// createBackup creates the EtcdBackup that the status names; its name says for which cluster and what it is.
func (a *Actor) createBackup(ctx context.Context, c *v1beta1.EtcdCluster, s plan.CreateBackup) error {
	if err := a.fence(ctx, c); err != nil {
		return err
	}
	err := a.Client.Create(ctx, specs.Backup(c, s.Name, s.Before), client.FieldOwner(v1beta1.FieldOwner))
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) && s.LetGo:
		return a.hold(ctx, c, plan.Hold{})
	case err != nil:
		return fmt.Errorf("create EtcdBackup %s: %w", s.Name, err)
	}
	return nil
}

// createRestore creates the EtcdRestore that a person has asked for by accepting the loss. Its name says for which cluster and which loss.
// Before it changes anything, it is asked again whether the loss is accepted and there.
func (a *Actor) createRestore(ctx context.Context, c *v1beta1.EtcdCluster, s plan.CreateRestore) error {
	if err := a.fence(ctx, c); err != nil {
		return err
	}
	err := a.Client.Create(ctx, specs.Restore(c, s.Name, s.Backup, s.Accepted), client.FieldOwner(v1beta1.FieldOwner))
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create EtcdRestore %s: %w", s.Name, err)
	}
	return nil
}

// expire deletes the EtcdCluster, unless its spec has changed since it was read: a person may just have given it more time.
func (a *Actor) expire(ctx context.Context, c *v1beta1.EtcdCluster) error {
	err := a.fence(ctx, c)
	if err == nil {
		err = a.Client.Delete(ctx, c.DeepCopy(), client.Preconditions{UID: &c.UID})
	}
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("%s: %w", plan.Expire{}, err)
	}
	return nil
}

// hold adds our finalizer to the EtcdCluster, or removes it.
func (a *Actor) hold(ctx context.Context, c *v1beta1.EtcdCluster, s plan.Hold) error {
	if err := a.fence(ctx, c); err != nil {
		return err
	}
	now := &v1beta1.EtcdCluster{}
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(c), now); err != nil {
		return fmt.Errorf("read the EtcdCluster again: %w", err)
	}
	changed, finalizer, ends := now.DeepCopy(), v1beta1.FinalizerLastBackup, ""
	if s.Adoption {
		finalizer, ends = v1beta1.FinalizerAdoption, metav1.FinalizerDeleteDependents
	}
	if s.Held {
		controllerutil.AddFinalizer(changed, finalizer)
		controllerutil.RemoveFinalizer(changed, ends)
	} else {
		controllerutil.RemoveFinalizer(changed, finalizer)
	}
	unchanged := client.MergeFromWithOptions(now, client.MergeFromWithOptimisticLock{})
	err := a.Client.Patch(ctx, changed, unchanged, client.FieldOwner(v1beta1.FieldOwner))
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return nil
}
