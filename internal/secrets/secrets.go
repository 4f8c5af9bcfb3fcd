// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secrets reads the Secrets of a cluster by their names.
//
// It must never list or watch any.
package secrets

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// Of are those of the cluster's Secrets with these names that exist, by their names. One that is not marked as the cluster's is
// not ours, and counts as missing (see specs.IsMarked). The error is that of the first read that failed.
func Of(ctx context.Context, from client.Reader, c *v1beta1.EtcdCluster, names ...string) (map[string]*corev1.Secret, error) {
	found := map[string]*corev1.Secret{}
	for _, name := range names {
		secret := &corev1.Secret{}
		err := from.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get secret %s: %w", name, err)
		}
		if err == nil && specs.IsMarked(c, secret) {
			found[name] = secret
		}
	}
	return found, nil
}

// Held is what those of them hold that say which certificates members trust.
func Held(ctx context.Context, from client.Reader, c *v1beta1.EtcdCluster, names ...string) (certs.KeyMaterial, error) {
	found, err := Of(ctx, from, c, names...)
	return certs.Read(c, func(name string) *corev1.Secret { return found[name] }), err
}
