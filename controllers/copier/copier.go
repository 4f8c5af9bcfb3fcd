// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package copier carries data from one cluster of etcd to another: all keys as they are at one revision, then what is written from there
// on. Each transaction that writes data writes also the mark, which says how far the copy is. So whoever goes on after a crash begins
// where the last transaction ended.
//
// It must never decide what is done, nor write to the source anything but an alarm.
package copier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/copying"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// ErrForeign means that something else has written to the target.
var ErrForeign = errors.New("something else writes to the cluster")

// timeout bounds each call.
const timeout = 20 * time.Second

// Copier copies into one cluster. It is used for one step.
type Copier struct {
	Source, Target etcd.Data
	// Mark is that of the target, Changed the revision at which it was written, and Revision that of the target.
	Mark              copying.Mark
	Changed, Revision int64
}

// Begin writes the mark, from which on keys are read at a revision of the source. Again says that there is one already.
func (c *Copier) Begin(ctx context.Context, cluster, source string, revision int64, again bool) error {
	if !again {
		c.Changed = 0
	}
	return c.apply(ctx, nil, copying.Mark{Cluster: cluster, Source: source, Read: revision})
}

// Read copies keys as they are at the revision of the mark, until the time is over or all are read.
func (c *Copier) Read(ctx context.Context, lasts time.Duration) error {
	slice, cancel := context.WithTimeout(ctx, lasts)
	defer cancel()
	source := pages{data: c.Source, revision: c.Mark.Read, after: c.Mark.After}
	for !c.Mark.Whole && slice.Err() == nil {
		wanted, more, err := source.next(ctx)
		if err != nil {
			return fmt.Errorf("read the source: %w", err)
		}
		there, err := c.between(ctx, c.Mark.After, wanted, more)
		if err != nil {
			return fmt.Errorf("read what is copied: %w", err)
		}
		mark := c.Mark
		mark.Keys += int64(len(wanted))
		if mark.Whole = !more; more {
			mark.After = wanted[len(wanted)-1].Key
		} else {
			mark.After, mark.Revision = nil, mark.Read
		}
		if err := c.write(ctx, copying.Difference(wanted, there), mark); err != nil {
			return err
		}
	}
	return nil
}

// between are the keys of the target that are after that one, and not after the last one that is wanted.
func (c *Copier) between(ctx context.Context, after []byte, wanted []etcd.Item, more bool) ([]etcd.Item, error) {
	target := pages{data: c.Target, after: after}
	var all []etcd.Item
	for {
		items, goesOn, err := target.next(ctx)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if more && string(item.Key) > string(wanted[len(wanted)-1].Key) {
				return all, nil
			}
			all = append(all, item)
		}
		if !goesOn {
			return all, nil
		}
	}
}

// write makes the changes in as many transactions as it takes. The last one says that they were made.
func (c *Copier) write(ctx context.Context, changes []etcd.Change, mark copying.Mark) error {
	batches := copying.Batches(changes)
	if len(batches) == 0 {
		return c.apply(ctx, nil, mark)
	}
	for i, batch := range batches {
		next := c.Mark
		if i == len(batches)-1 {
			next = mark
		}
		if err := c.apply(ctx, batch, next); err != nil {
			return err
		}
	}
	return nil
}

// apply makes changes and writes the mark, in one transaction.
func (c *Copier) apply(ctx context.Context, changes []etcd.Change, mark copying.Mark) error {
	mark.Base, mark.Large = c.Revision, false
	revision, err := c.txn(ctx, changes, mark)
	if errors.Is(err, etcd.ErrTooLarge) && len(changes) == 1 {
		return c.large(ctx, changes[0].KeyValue, mark)
	}
	if err != nil {
		return fmt.Errorf("write what is copied: %w", err)
	}
	return c.advance(mark, revision)
}

func (c *Copier) txn(ctx context.Context, changes []etcd.Change, mark copying.Mark) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return c.Target.Apply(ctx, changes, etcd.KeyValue{Key: []byte(copying.MarkKey), Value: mark.Text()}, c.Changed)
}

// advance notes what was written, unless something else has written in between: the mark shows that, too.
func (c *Copier) advance(mark copying.Mark, revision int64) error {
	if revision != mark.Base+1 {
		return ErrForeign
	}
	c.Mark, c.Changed, c.Revision = mark, revision, revision
	return nil
}

// large writes a key by itself, of which a transaction has no room beside the mark. The mark before it says so.
func (c *Copier) large(ctx context.Context, key etcd.KeyValue, mark copying.Mark) error {
	announced := c.Mark
	announced.Base, announced.Large = c.Revision, true
	revision, err := c.txn(ctx, nil, announced)
	if err != nil {
		return fmt.Errorf("write what is copied: %w", err)
	}
	if err := c.advance(announced, revision); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	switch revision, err = c.Target.Put(limited, key); {
	case errors.Is(err, etcd.ErrTooLarge):
		return fmt.Errorf("a key has a value of %d bytes, which is more than the cluster takes: set max-request-bytes in etcd.extraArgs as the "+
			"source has it: %w", len(key.Value), err)
	case err != nil:
		return fmt.Errorf("write what is copied: %w", err)
	case revision != c.Revision+1:
		return ErrForeign
	}
	c.Revision = revision
	return c.apply(ctx, nil, mark)
}
