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

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Members makes clients of members, and keeps connections to those that run.
type Members interface {
	Member(ctx context.Context, c *v1alpha1.EtcdCluster, m cluster.Member) (etcd.Client, error)
	Keep(ctx context.Context, c *v1alpha1.EtcdCluster, members []cluster.Member)
	Probe(ctx context.Context, c *v1alpha1.EtcdCluster, m cluster.Member) certs.TLSProbe
}

// Observer reads clusters.
type Observer struct {
	Cache  client.Reader // fed by watches: may be a moment old
	Live   client.Reader // asks the API server
	Dialer Members
	// Remains asks a member that serves no client what data it has.
	Remains func(ctx context.Context, address string) (etcd.Remains, error)
	// Resizes says what of the resources of running Pods this Kubernetes changes.
	Resizes func() specs.Resizes
	NoNodes bool // nodes may not be read: nothing is known of them
	// Operator is the namespace of the operator's own Pods; empty if it runs outside of Kubernetes.
	Operator string
	// Limits are what an EtcdCluster may ask for.
	Limits limits.Limits
	Now    func() time.Time
	// Ahead says by how much the clock of this machine is ahead of the API server's.
	Ahead func() time.Duration
	// Behind says by how much it is behind.
	Behind func() time.Duration
}

// Cluster is a snapshot of one cluster. An etcd that does not answer is a fact in it;
// only an API server that does not is an error.
func (o *Observer) Cluster(ctx context.Context, c *v1alpha1.EtcdCluster) (facts.Snapshot, error) {
	s := facts.Snapshot{
		Cluster: c, Now: o.Now(), Ahead: o.Ahead(), Behind: o.Behind(), Resizes: o.Resizes(), Operator: o.Operator, Limits: o.Limits,
	}
	if facts.IsLeftAlone(c) {
		return s, nil
	}
	if err := o.all(ctx, &s); err != nil {
		return s, fmt.Errorf("observe %s: %w", c.Name, err)
	}
	return s, nil
}

// all reads what members answer after what takes long: a step may rest on it.
func (o *Observer) all(ctx context.Context, s *facts.Snapshot) error {
	reads := []func(context.Context, *facts.Snapshot) error{
		o.awaited, o.objects, o.lists, o.probes, o.etcd, o.backups, o.named, o.nodes, o.users,
	}
	if facts.MayBeAsleep(s.Cluster) {
		if err := o.lists(ctx, s); err != nil {
			return err
		}
		if s.Asleep = facts.IsHibernated(*s); s.Asleep {
			reads = []func(context.Context, *facts.Snapshot) error{o.awaited, o.etcd}
		}
	}
	for _, read := range reads {
		if err := read(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
