// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe reads what there is of a cluster, once: what Kubernetes keeps, and what etcd
// answers.
//
// It must never change anything, and never interpret what it reads: that is the work of facts,
// which also says what else is to be asked.
package observe

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Members makes clients of members, and keeps connections to those that run.
type Members interface {
	Member(ctx context.Context, c *v1beta1.EtcdCluster, m cluster.Member) (etcd.Client, error)
	Keep(ctx context.Context, c *v1beta1.EtcdCluster, members []cluster.Member)
	// Source is a client of a member of the cluster that is adopted, by its URL.
	Source(ctx context.Context, c *v1beta1.EtcdCluster, url string) (etcd.Client, error)
	Probe(ctx context.Context, c *v1beta1.EtcdCluster, m cluster.Member) certs.TLSProbe
}

// Observer reads clusters.
type Observer struct {
	Cache  client.Reader // fed by watches: may be a moment old
	Live   client.Reader // asks the API server
	Dialer Members
	// Remains asks a member that serves no client what data it has.
	Remains func(ctx context.Context, address string) (etcd.Remains, error)
	// Timings asks a member how long it has spent on its disk and on the way to its peers.
	Timings func(ctx context.Context, address string) (etcd.Timings, error)
	// Resizes says what of the resources of running Pods this Kubernetes changes.
	Resizes func() specs.Resizes
	NoNodes bool // nodes may not be read: nothing is known of them
	// Operator is the namespace of the operator's own Pods; empty if it runs outside of Kubernetes.
	Operator string
	// Domain is that of the Kubernetes cluster; empty if none is known.
	Domain string
	// Limits are what an EtcdCluster may ask for.
	Limits limits.Limits
	Now    func() time.Time
	// Ahead says by how much the clock of this machine is ahead of the API server's.
	Ahead func() time.Duration
	// Behind says by how much it is behind.
	Behind func() time.Duration
}

// Cluster is a snapshot of one cluster. An etcd that does not answer is a fact in it;
// only an API server that does not is an error. The hashes are those that earlier looks have read.
func (o *Observer) Cluster(ctx context.Context, c *v1beta1.EtcdCluster, hashes []cluster.Hash) (facts.Snapshot, error) {
	s := facts.Snapshot{
		Cluster: c, Now: o.Now(), Ahead: o.Ahead(), Behind: o.Behind(), Resizes: o.Resizes(), Operator: o.Operator,
		Domain: o.Domain, Limits: o.Limits, Hashes: hashes,
	}
	reads := facts.ByCluster(c)
	if reads.LeftAlone {
		return s, nil
	}
	if err := o.all(ctx, &s, reads); err != nil {
		return s, fmt.Errorf("observe %s: %w", c.Name, err)
	}
	return s, nil
}

// all reads what Kubernetes has, then what members answer, and then what is only read if something is wrong or in progress. What takes long
// is read before etcd is asked: a step may rest on what members answer.
func (o *Observer) all(ctx context.Context, s *facts.Snapshot, first facts.ClusterReads) error {
	if first.MayBeAsleep {
		if err := o.lists(ctx, s, first.Live); err != nil {
			return err
		}
		s.Asleep = facts.ByKubernetes(*s).Asleep
	}
	if err := o.sources(ctx, s); err != nil {
		return err
	}
	if err := o.awaited(ctx, s, first.Awaited); err != nil {
		return err
	}
	if !s.Asleep {
		if err := o.objects(ctx, s); err != nil {
			return err
		}
		if err := o.lists(ctx, s, first.Live); err != nil {
			return err
		}
	}
	members := facts.ByKubernetes(*s)
	if s.Asleep {
		o.etcd(ctx, s, members)
		return nil
	}
	o.probes(ctx, s, members.Probed)
	o.etcd(ctx, s, members)
	return o.last(ctx, s, first, facts.ByEtcd(*s))
}

// last reads what follows from what members answer.
func (o *Observer) last(ctx context.Context, s *facts.Snapshot, first facts.ClusterReads, last facts.LastReads) error {
	if last.Backups {
		if err := o.backups(ctx, s, first.Accepted); err != nil {
			return err
		}
	}
	if last.Running {
		if err := o.backingUp(ctx, s); err != nil {
			return err
		}
	}
	if err := o.named(ctx, s, last.Doubts); err != nil {
		return err
	}
	if err := o.nodes(ctx, s); err != nil || !last.Users {
		return err
	}
	return o.users(ctx, s)
}
