// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// changeTimeout bounds one call that changes the membership: etcd's own limit for
// a request is 5 s plus two election timeouts (ReqTimeout in its config.go).
const changeTimeout = 7 * time.Second

// ErrChanged means that the EtcdCluster or an object is no longer the one that was observed. Nothing was
// written: observe again.
var ErrChanged = errors.New("the EtcdCluster has changed since it was observed")

// wakeTimeout bounds one entry that wakes members.
const wakeTimeout = 500 * time.Millisecond

// wake has the leader write an entry if members may be waiting for one. The next look shows
// whether it helped.
func (a *Actor) wake(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View) {
	leader, due := v.NeedsNoopProposal()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	if member, err := a.Dialer.Member(ctx, c, leader); err == nil {
		_ = member.WriteEntry(ctx)
	}
}

func (a *Actor) addLearner(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.AddLearner) error {
	return a.askLeader(ctx, c, v, s, func(ctx context.Context, leader etcd.Client) error {
		_, err := leader.AddLearner(ctx, specs.PeerURLs(c, s.Name)...)
		return err
	})
}

func (a *Actor) updatePeerURLs(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.UpdatePeerURLs) error {
	id := v.IDOf(cmp.Or(s.Of, s.Name))
	if s.Of != "" { // it stops next, and the Pod of the member takes its place
		if err := a.dryRun(ctx, c, v, s.Name); err != nil {
			return err
		}
	}
	return a.askLeader(ctx, c, v, s, func(ctx context.Context, leader etcd.Client) error {
		return leader.UpdatePeerURLs(ctx, id, specs.PeerURLs(c, s.Name)...)
	})
}

func (a *Actor) promote(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.Promote) error {
	m, _ := v.Member(s.Name)
	return a.askLeader(ctx, c, v, s, func(ctx context.Context, leader etcd.Client) error { return leader.Promote(ctx, m.ID) })
}

func (a *Actor) remove(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.RemoveMember) error {
	id := v.IDOf(s.Name)
	return a.askLeader(ctx, c, v, s, func(ctx context.Context, leader etcd.Client) error { return leader.Remove(ctx, id) })
}

func (a *Actor) moveLeader(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.MoveLeader) error {
	to := v.IDOf(s.To)
	return a.askLeader(ctx, c, v, s, func(ctx context.Context, leader etcd.Client) error { return leader.MoveLeader(ctx, to) })
}

func (a *Actor) downgrade(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.Downgrade) error {
	if s.To == "" {
		// One of the oldest version may not know that there is anything to cancel.
		newest := slices.MaxFunc(v.Members, func(x, y cluster.Member) int { return version.Order(x.Version, y.Version) })
		return a.ask(ctx, c, newest, s, func(ctx context.Context, member etcd.Client) error { return member.CancelDowngrade(ctx) })
	}
	return a.askLeader(ctx, c, v, s, func(ctx context.Context, leader etcd.Client) error { return leader.Downgrade(ctx, s.To) })
}

func (a *Actor) disarm(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.DisarmAlarm) error {
	alarm := etcd.Alarm{MemberID: s.ID, Kind: s.Kind}
	return a.askLeader(ctx, c, v, s, func(ctx context.Context, leader etcd.Client) error { return leader.Disarm(ctx, alarm) })
}

// compact compacts twice, up to the revision before the last one and up to the last one: a member counts what it has freed only with
// the next write to its backend (server/storage/backend/backend.go: begin), and those of clients are refused. It does not wait for the
// whole compaction, which may take longer than a look may: etcd goes on with it.
func (a *Actor) compact(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.Compact) error {
	return a.askLeader(ctx, c, v, s, func(ctx context.Context, leader etcd.Client) error {
		for _, revision := range []int64{s.Revision - 1, s.Revision} {
			if err := leader.Compact(ctx, revision); err != nil && !etcd.IsSlow(err) {
				return err
			}
		}
		return nil
	})
}

// askLeader makes the one change of a step through the leader.
func (a *Actor) askLeader(
	ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, step plan.Step, change func(context.Context, etcd.Client) error,
) error {
	if source, leads := v.SourceLeader(); leads {
		return a.askAt(ctx, c, step, change, func() (etcd.Client, error) { return a.Dialer.Source(ctx, c, source.URL) })
	}
	leader, found := v.Leader()
	if !found {
		return fmt.Errorf("%s: no leader is known", step)
	}
	return a.ask(ctx, c, leader, step, change)
}

// ask makes the one change of a step through a member, if the EtcdCluster is still the one that
// the step was planned for.
func (a *Actor) ask(
	ctx context.Context, c *v1beta1.EtcdCluster, m cluster.Member, step plan.Step, change func(context.Context, etcd.Client) error,
) error {
	return a.askAt(ctx, c, step, change, func() (etcd.Client, error) { return a.Dialer.Member(ctx, c, m) })
}

func (a *Actor) askAt(
	ctx context.Context, c *v1beta1.EtcdCluster, step plan.Step, change func(context.Context, etcd.Client) error,
	dial func() (etcd.Client, error),
) error {
	if err := a.mayDisturb(ctx, c, step); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	member, err := dial()
	if err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if err := change(ctx, member); err != nil {
		return fmt.Errorf("%s: %w", step, err)
	}
	return nil
}

// fence reads the EtcdCluster and the lease from the API server itself, both at once: an
// operator that was cut off, or whose cache is old, must not change a membership nor disturb a
// member, nor one whose cluster another installation has taken over.
func (a *Actor) fence(ctx context.Context, c *v1beta1.EtcdCluster) error {
	asked := []func() error{func() error { return a.isUnchanged(ctx, c) }}
	if a.Leads != nil {
		asked = append(asked, func() error { return a.Leads(ctx) })
	}
	return atOnce(asked, call)
}

func (a *Actor) isUnchanged(ctx context.Context, c *v1beta1.EtcdCluster) error {
	var now v1beta1.EtcdCluster
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(c), &now); err != nil {
		return fmt.Errorf("read the EtcdCluster again: %w", err)
	}
	if now.UID != c.UID || now.Generation != c.Generation || now.IsGoing() ||
		now.Status.Operator != c.Status.Operator {
		return ErrChanged
	}
	return nil
}
