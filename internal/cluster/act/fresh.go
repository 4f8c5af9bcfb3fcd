// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// freshness is how old the answers of members may be that a step rests on which disturbs them. To ask all of them takes up to 3 s, if
// one does not answer.
const freshness = 5 * time.Second

// askTimeout is how long members that were healthy may take to say that they still are.
const askTimeout = 3 * time.Second

// ErrStale means that members were asked too long ago to disturb one of them now. Nothing was written: observe again.
var ErrStale = errors.New("members were asked too long ago")

// left is how long the answers of members stay fresh enough for a step that disturbs them.
func (a *Actor) left() time.Duration { return freshness - a.Now().Sub(a.asked) }

// isFresh refuses a step that disturbs members if they were asked too long ago, and are not as they were: the API server may have had
// the step wait for many seconds, and may do so each time.
func (a *Actor) isFresh(ctx context.Context, c *v1beta1.EtcdCluster, step plan.Step) error {
	if !plan.KindOf(step).Disturbs || a.left() > 0 {
		return nil
	}
	asked := a.Now()
	if !a.isAsBefore(ctx, c, step) {
		return ErrStale
	}
	a.asked = asked
	return nil
}

// isAsBefore asks the members that were healthy whether they still are, and follow the same leader. A forced member depends on others
// not answering, which a few answers do not show.
func (a *Actor) isAsBefore(ctx context.Context, c *v1beta1.EtcdCluster, step plan.Step) bool {
	leader, led := a.view.Leader()
	forces, isStart := step.(plan.CreatePods)
	if !led || isStart && forces.Forced {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return atOnce(a.view.Select(cluster.IsHealthy), func(m cluster.Member) error {
		member, err := a.Dialer.Member(ctx, c, m)
		if err != nil {
			return fmt.Errorf("reach %s: %w", m.Name, err)
		}
		status, err := member.Status(ctx)
		if err == nil && (status.MemberID != m.ID || status.LeaderID != leader.ID) {
			err = ErrStale
		}
		if err != nil || status.Learner {
			return err
		}
		return member.Read(ctx)
	}) == nil
}

// mayDisturb is the last question before a step that disturbs members: the operator is in charge of this very EtcdCluster, and knows the
// members as they are.
func (a *Actor) mayDisturb(ctx context.Context, c *v1beta1.EtcdCluster, step plan.Step) error {
	if err := a.fence(ctx, c); err != nil {
		return err
	}
	return a.isFresh(ctx, c, step)
}

// inTime does what a step writes in Kubernetes. If the step disturbs members, the calls end when the answers are too old.
func (a *Actor) inTime(ctx context.Context, c *v1beta1.EtcdCluster, step plan.Step, do func(context.Context) error) error {
	if !plan.KindOf(step).Disturbs {
		return do(ctx)
	}
	if err := a.isFresh(ctx, c, step); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.left())
	defer cancel()
	err := do(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	return err
}
