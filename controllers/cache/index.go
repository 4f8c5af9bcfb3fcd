// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Index has the cache find what is about one cluster by its name: with 100 clusters in a namespace, each look at one would otherwise copy
// what all have.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for _, kind := range []client.Object{&v1beta1.EtcdBackup{}, &v1beta1.EtcdDrill{}, &v1beta1.EtcdRestore{}} {
		if err := indexer.IndexField(ctx, kind, v1beta1.FieldCluster, ClustersOf); err != nil {
			return fmt.Errorf("index %T by cluster: %w", kind, err)
		}
	}
	return nil
}

// ClustersOf is the name of the cluster that a backup, a drill or a restore is about; empty if that of a backup is not known.
func ClustersOf(o client.Object) []string {
	switch o := o.(type) {
	case *v1beta1.EtcdBackup:
		return []string{cmp.Or(o.Spec.Cluster, o.Status.Cluster)}
	case *v1beta1.EtcdDrill:
		return []string{o.Spec.Cluster}
	case *v1beta1.EtcdRestore:
		return []string{o.Spec.Cluster}
	default:
		return nil
	}
}
