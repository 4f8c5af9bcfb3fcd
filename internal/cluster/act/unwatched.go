// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// mayWriteSecret says whether cert-manager would write no Secret of another owner. It is read again at the last moment, because what
// was seen of Secrets may be minutes old.
func mayWriteSecret(ctx context.Context, live client.Reader, wanted, existing *unstructured.Unstructured) error {
	name := specs.SecretOf(wanted)
	secret := &corev1.Secret{}
	err := live.Get(ctx, client.ObjectKey{Namespace: wanted.GetNamespace(), Name: name}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("get Secret %s: %w", name, err)
	}
	if why := specs.WouldOverwrite(wanted, existing, secret); why != "" {
		return fmt.Errorf("apply Certificate %s: Secret %s %w: %s", wanted.GetName(), name, ErrTaken, why)
	}
	return nil
}

func (a *Actor) applyUnwatched(ctx context.Context, c *v1beta1.EtcdCluster, wanted *unstructured.Unstructured) error {
	isOurs := func(existing client.Object) bool { return isOurs(c, existing) }
	if wanted.GetKind() == specs.CertificateKind.Kind {
		return ApplyCertificate(ctx, a.Live, a.Client, wanted, isOurs)
	}
	_, err := unwatched(ctx, a.Live, wanted, isOurs)
	if err != nil {
		return err
	}
	return apply(ctx, a.Client, wanted)
}

// ApplyCertificate applies a Certificate of cert-manager. The error is ErrTaken if there is one of the name that is not ours.
func ApplyCertificate(
	ctx context.Context, live client.Reader, to client.Client, wanted *unstructured.Unstructured, isOurs func(client.Object) bool,
) error {
	existing, err := unwatched(ctx, live, wanted, isOurs)
	if err != nil {
		return err
	}
	if err := mayWriteSecret(ctx, live, wanted, existing); err != nil {
		return err
	}
	return apply(ctx, to, wanted)
}

// unwatched reads the object that there is instead of the wanted one; nil if there is none. The error is ErrTaken if that is not ours.
func unwatched(
	ctx context.Context, live client.Reader, wanted *unstructured.Unstructured, isOurs func(client.Object) bool,
) (*unstructured.Unstructured, error) {
	existing := &unstructured.Unstructured{}
	existing.SetGroupVersionKind(wanted.GroupVersionKind())
	err := live.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	switch {
	case err == nil && !isOurs(existing):
		return nil, fmt.Errorf("apply %s %s: one of that name %w", wanted.GetKind(), wanted.GetName(), ErrTaken)
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	}
	return existing, nil
}

// apply goes past the cache: a read or a write that is to be consistent with that would start a watch of the kind, which the operator has
// no right to, and wait for it.
func apply(ctx context.Context, to client.Client, wanted *unstructured.Unstructured) error {
	err := to.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted), client.FieldOwner(v1beta1.FieldOwner),
		client.ForceOwnership, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", wanted.GetKind(), wanted.GetName(), err)
	}
	return nil
}
