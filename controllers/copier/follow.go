// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package copier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/copying"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// waiting is how many answers of a watch wait to be written, each of at most some 2 MiB.
	waiting = 8
	// together is how many changes are written at once, if there are as many.
	together = 1000
)

// written is what a watch has sent: changes, and up to which revision there are no others.
type written struct {
	changes  []etcd.Change
	complete int64
}

// Follow copies what is written to the source after the revision of the mark, until the time is over, or everything up to that revision is
// copied; 0: there is none.
func (c *Copier) Follow(ctx context.Context, lasts time.Duration, to int64) error {
	slice, cancel := context.WithTimeout(ctx, lasts)
	answers := make(chan written, waiting)
	var reader sync.WaitGroup
	var watched error
	reader.Go(func() {
		defer close(answers)
		watched = c.Source.Watch(slice, c.Mark.Revision+1, func(changes []etcd.Change, complete int64) error {
			select {
			case answers <- written{changes, complete}:
				return nil
			case <-slice.Done():
				return slice.Err()
			}
		})
	})
	err := c.writeAll(ctx, slice, answers, to)
	cancel()
	reader.Wait()
	if errors.Is(watched, context.DeadlineExceeded) || errors.Is(watched, context.Canceled) {
		watched = nil
	}
	if err == nil && watched != nil {
		err = fmt.Errorf("follow the source: %w", watched)
	}
	return err
}

// writeAll writes what comes, as much at once as there is.
func (c *Copier) writeAll(ctx, slice context.Context, answers <-chan written, to int64) error {
	for to == 0 || c.Mark.Revision < to {
		select {
		case next, open := <-answers:
			if !open {
				return nil
			}
			next = gather(next, answers)
			mark := c.Mark
			mark.Revision = max(mark.Revision, next.complete)
			if err := c.write(ctx, copying.Latest(next.changes), mark); err != nil {
				return err
			}
		case <-slice.Done():
			return nil
		}
	}
	return nil
}

// gather takes what has come already.
func gather(first written, answers <-chan written) written {
	for len(first.changes) < together {
		select {
		case next, open := <-answers:
			if !open {
				return first
			}
			first.changes, first.complete = append(first.changes, next.changes...), max(first.complete, next.complete)
		default:
			return first
		}
	}
	return first
}

// Bind gives the target the leases of the source, and binds to them the keys that nothing has written after that revision of the target.
func (c *Copier) Bind(ctx context.Context, revision int64) (leases int32, keys int64, err error) {
	ids, err := c.Source.Leases(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("read the source: %w", err)
	}
	for _, id := range ids {
		lease, err := c.Source.Lease(ctx, id)
		if errors.Is(err, etcd.ErrNoLease) {
			continue // it ends, and its keys are to be deleted with it: they stay
		}
		if err == nil {
			err = c.Target.GrantLease(ctx, lease)
		}
		if err != nil {
			return 0, 0, fmt.Errorf("copy a lease: %w", err)
		}
		leases++
		bound, err := c.attach(ctx, lease, revision)
		if err != nil {
			return 0, 0, err
		}
		keys += bound
	}
	mark := c.Mark
	mark.Leased = true
	if _, err := c.txn(ctx, nil, mark); err != nil {
		return 0, 0, fmt.Errorf("write down that keys are bound to leases: %w", err)
	}
	return leases, keys, nil
}

func (c *Copier) attach(ctx context.Context, lease etcd.Lease, revision int64) (int64, error) {
	const most = 100 // etcd takes 128 operations
	bound := int64(0)
	for keys := lease.Keys; len(keys) > 0; keys = keys[min(most, len(keys)):] {
		n, err := c.Target.Attach(ctx, lease.ID, keys[:min(most, len(keys))], revision)
		if err != nil {
			return 0, fmt.Errorf("bind keys to a lease: %w", err)
		}
		bound += int64(n)
	}
	return bound, nil
}
