package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/plan"
)

// freshness is how old the answers of members may be that a step rests on which disturbs them. To ask all of them takes up to 3 s, if
// one does not answer.
const freshness = 5 * time.Second

// ErrStale means that members were asked too long ago to disturb one of them now. Nothing was written: observe again.
var ErrStale = errors.New("members were asked too long ago")

// left is for how long what members answered is fresh enough for a step that disturbs them.
func (a *Actor) left() time.Duration { return freshness - a.Now().Sub(a.asked) }

// isFresh refuses a step that disturbs members if they were asked too long ago.
func (a *Actor) isFresh(step plan.Step) error {
	if plan.KindOf(step).Disturbs && a.left() <= 0 {
		return ErrStale
	}
	return nil
}

// mayDisturb is the last question before a step that disturbs members: the operator is in charge of this very EtcdCluster, and knows the
// members as they are.
func (a *Actor) mayDisturb(ctx context.Context, c *v1alpha1.EtcdCluster, step plan.Step) error {
	if err := a.fence(ctx, c); err != nil {
		return err
	}
	return a.isFresh(step)
}

// inTime does what a step does in Kubernetes. If the step disturbs members, the calls end when the answers are too old: the API server
// may have them wait for many seconds.
func (a *Actor) inTime(ctx context.Context, step plan.Step, do func(context.Context) error) error {
	if !plan.KindOf(step).Disturbs {
		return do(ctx)
	}
	if err := a.isFresh(step); err != nil {
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
