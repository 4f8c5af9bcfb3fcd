// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/users"
)

// writeSecret makes the Secret of a user, or changes the one that there is.
func (p *userRun) writeSecret(ctx context.Context, t *target) error {
	made, err := p.view.Held.MakeUser(p.random, p.view.Now, p.view.Cluster, t.user, t.secret)
	switch {
	case err != nil:
		return fmt.Errorf("make secret %s: %w", t.user.Secret(), err)
	case t.secret != nil:
		return p.changeSecret(ctx, t, made)
	}
	err = p.client.Create(ctx, made, client.FieldOwner(v1beta1.FieldOwner))
	if apierrors.IsAlreadyExists(err) {
		return p.findSecret(ctx, t)
	}
	t.secret = made
	return wrapped("create secret "+made.Name, err)
}

// findSecret is about a Secret that is there, although none was when it was read last.
func (p *userRun) findSecret(ctx context.Context, t *target) error {
	var there corev1.Secret
	if err := p.live.Get(ctx, client.ObjectKey{Namespace: t.user.Namespace, Name: t.user.Secret()}, &there); err != nil {
		return fmt.Errorf("get secret %s: %w", t.user.Secret(), err)
	}
	if !metav1.IsControlledBy(&there, t.user) {
		return errSecretTaken
	}
	t.secret = &there
	return p.writeSecret(ctx, t)
}

func (p *userRun) changeSecret(ctx context.Context, t *target, made *corev1.Secret) error {
	changed := t.secret.DeepCopy()
	changed.Data = made.Data
	changed.Labels = map[string]string{}
	maps.Copy(changed.Labels, t.secret.Labels)
	maps.Copy(changed.Labels, made.Labels)
	for name, value := range made.Annotations { // since when it is as it is: what relies on it waits for applications
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, name, value)
	}
	unchanged := client.MergeFromWithOptions(t.secret, client.MergeFromWithOptimisticLock{})
	before := t.secret
	t.secret = changed
	if err := p.client.Patch(ctx, changed, unchanged, client.FieldOwner(v1beta1.FieldOwner)); err != nil {
		return fmt.Errorf("patch secret %s: %w", changed.Name, err)
	}
	t.user.Status.PasswordVersion = users.KeptVersion(p.view.Cluster, t.user.Status.PasswordVersion, before, changed)
	return nil
}
