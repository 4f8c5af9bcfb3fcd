// Package observe looks at a cluster once and says what it saw as plain facts:
// what Kubernetes keeps, what etcd answers, joined by the members' names.
//
// It must never change anything, and never choose a step: that is the plan's work. It only
// compares what is with what is wanted, such as which version comes next. One question of
// it is more than a read to etcd, see rouse: it changes no data, but writes an entry.
package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/version"
)

// freshFor is how long after a Pod's container started etcd is expected to need
// no more looking after: an election with default timers takes up to two seconds
// (https://etcd.io/docs/v3.6/tuning/#time-parameters), loading data a little more.
const freshFor = 30 * time.Second

// Members makes clients of members, and keeps connections to those that run.
type Members interface {
	Member(ctx context.Context, c *v1alpha1.EtcdCluster, m cluster.Member) (etcd.Client, error)
	Keep(ctx context.Context, c *v1alpha1.EtcdCluster, members []cluster.Member)
}

// Observer looks at clusters.
type Observer struct {
	Cache  client.Reader // fed by watches: may be a moment old
	Live   client.Reader // asks the API server
	Dialer Members
	// Remains asks a member that serves no client what data it has.
	Remains func(ctx context.Context, address string) (etcd.Remains, error)
	// Resizes says what of the resources of running Pods this Kubernetes changes.
	Resizes func() build.Resizes
	NoNodes bool // nodes may not be read: nothing is known of them
	Now     func() time.Time
	// Ahead says by how much the clock of this machine is ahead of the API server's.
	Ahead func() time.Duration

	rouser rouser
}

// Cluster is one observation. An etcd that does not answer is a fact in the view;
// only an API server that does not is an error.
func (o *Observer) Cluster(ctx context.Context, c *v1alpha1.EtcdCluster) (cluster.View, error) {
	v := cluster.View{
		Name: c.Name, UID: string(c.UID), Generation: c.Generation, Deleting: c.DeletionTimestamp != nil,
		Want:    want(c),
		Record:  record(c),
		Unknown: recorded(c),
	}
	if v.Deleting {
		return v, nil
	}
	if c.Status.Format > v1alpha1.StatusFormat {
		v.Newer = fmt.Sprintf("its status has format %d, and this one knows %d", c.Status.Format, v1alpha1.StatusFormat)
		return v, nil
	}
	members := newJoin(c)
	if err := o.kubernetes(ctx, c, &v, members); err != nil {
		return v, fmt.Errorf("observe %s: %w", c.Name, err)
	}
	o.etcd(ctx, c, &v, members)
	asleep := isAsleep(c, members)
	if !asleep {
		if err := o.confirm(ctx, c, &v, members); err != nil {
			return v, fmt.Errorf("observe %s: %w", c.Name, err)
		}
	}
	if err := o.nodes(ctx, c, members); err != nil {
		return v, fmt.Errorf("observe %s: %w", c.Name, err)
	}
	o.judge(c, &v, members)
	untold(&v, members)
	v.Members = members.sorted()
	if asleep {
		return v, nil
	}
	if err := o.objects(ctx, c, &v); err != nil {
		return v, fmt.Errorf("observe %s: %w", c.Name, err)
	}
	return v, nil
}

func want(c *v1alpha1.EtcdCluster) cluster.Want {
	paused, unclear := pause(c)
	return cluster.Want{
		Size:      c.Size(),
		Version:   version.Full(c.Spec.Version),
		Image:     c.Spec.Image,
		Ephemeral: c.Spec.Storage.Ephemeral != nil,
		Paused:    paused,
		Unclear:   unclear,
		RollBack:  c.Spec.Upgrade.OnFailure == v1alpha1.RollBack,
		Automatic: c.Spec.Recovery.QuorumLoss == v1alpha1.Automatic,
		Accepted:  c.Spec.Recovery.AcceptDataLoss,
	}
}

// pause is what says that nothing is to be changed, and whether it may have meant the
// opposite. An annotation that is neither true nor false counts as true: somebody may be
// about to touch the members, and a pause too many is told and can be ended.
func pause(c *v1alpha1.EtcdCluster) (paused string, unclear bool) {
	var all []string
	if c.Spec.Paused {
		all = append(all, "spec.paused is true")
	}
	switch value, set := c.Annotations[v1alpha1.AnnotationPaused]; {
	case !set || value == "false":
	case value == "true":
		all = append(all, "the annotation "+v1alpha1.AnnotationPaused+" is true")
	default:
		unclear = true
		all = append(all, fmt.Sprintf("the annotation %s is %.20q, neither true nor false, and counts as true", v1alpha1.AnnotationPaused, value))
	}
	return strings.Join(all, " and "), unclear
}

func record(c *v1alpha1.EtcdCluster) cluster.Record {
	r := cluster.Record{
		ClusterID: c.Status.ClusterID, NextSerial: int(c.Status.NextSerial), Joining: c.Status.Joining,
		Recovering: c.Status.Recovering, Revision: c.Status.Revision,
	}
	if isRolledBack(c) {
		was := c.Status.Rollback
		r.RolledBack = cluster.RollBack{
			Refused: was.Refused, RefusedImage: was.RefusedImage, Version: was.Version, Image: was.Image, Because: was.Because,
		}
	}
	if plan := c.Status.Bootstrap; plan != nil {
		r.Token, r.First, r.Adopted = plan.Token, slices.Clone(plan.Members), plan.Adopted
	}
	return r
}

// come is the time that has come by this machine's clock and by the API server's: a wrong clock
// alone has nothing deleted or replaced.
func (o *Observer) come() time.Time { return o.Now().Add(-o.Ahead()) }

// isRecent says whether something was less than that long ago, by what another clock may
// have written down. One that is ahead must not make anybody wait until then: what lies
// further in the future than that counts as long past. Not for what deletes or replaces,
// which a wrong clock may only delay.
func (o *Observer) isRecent(at time.Time, within time.Duration) bool {
	return o.Now().Sub(at).Abs() < within
}
