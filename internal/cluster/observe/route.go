// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// route reads the TLSRoute, if there may be one.
func (o *Observer) route(ctx context.Context, s *facts.Snapshot) error {
	if !facts.HasRoute(s.Cluster) {
		return nil
	}
	have, missing, err := unwatched(ctx, o.Live, specs.TLSRouteKind, client.ObjectKeyFromObject(specs.Route(s.Cluster)))
	s.Route = have
	if s.Cluster.Route() != nil {
		s.NoRoute = missing
	}
	return err
}
