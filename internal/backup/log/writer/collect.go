// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"context"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// collector makes segments of batches.
type collector struct {
	*keeper
	open   *log.Encoder // that batches are added to
	closed *log.Segment // that waits for the sender; nil: none
	hash   *log.HashKV  // that no segment has yet
	hashed time.Time    // when it was asked for last
}

// collect closes the open segment when it is full, or when the time to flush has come and the sender takes it. While the sender is busy
// the open one grows; when it is full, too, nothing more is read. When nothing more can be read, or is to be, it returns why, once the
// store has what was read.
func (k *keeper) collect(ctx, reading context.Context, start log.Start) error {
	c := &collector{keeper: k}
	c.begin(start)
	flush := time.NewTicker(k.Flush)
	defer flush.Stop()
	for {
		batches, segments, segment := k.batches, k.segments, log.Segment{}
		if c.closed == nil {
			segments = nil
		} else {
			segment = *c.closed
			if c.open.Size() >= k.SegmentSize {
				batches = nil
			}
		}
		var err error
		select {
		case <-reading.Done():
			return c.drain(ctx, context.Cause(reading))
		case b := <-batches:
			err = c.add(ctx, b)
		case segments <- segment:
			c.closed = nil
		case h := <-k.hashes:
			c.hash = &h
		case <-flush.C:
			err = c.close(ctx)
		case ended := <-k.ended:
			if reading.Err() != nil {
				return c.drain(ctx, context.Cause(reading))
			}
			c.report(func(p *Progress) { p.MemberProblem = ended })
			return c.drain(ctx, ended)
		}
		if err != nil {
			return err
		}
	}
}

// drain sends what is there: what was compacted is nowhere else.
func (c *collector) drain(ctx context.Context, ended error) error {
	for c.closed != nil || c.open.Events() > 0 {
		if err := c.makeRoom(ctx); err != nil {
			return err
		}
	}
	close(c.segments)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.sent:
		return ended
	}
}

func (c *collector) add(ctx context.Context, b log.Batch) error {
	if len(b.Events) == 0 {
		c.report(func(p *Progress) {
			if p.MemberProblem = nil; p.Waiting == 0 {
				p.Until = b.Time // all that was written has come, and is in the store
			}
		})
		return nil
	}
	if !c.open.Fits(b) {
		if err := c.makeRoom(ctx); err != nil {
			return err
		}
	}
	before := c.open.Size()
	if err := c.open.Add(b); err != nil {
		return err
	}
	c.report(func(p *Progress) {
		p.MemberProblem = nil
		p.Waiting += int64(c.open.Size() - before)
	})
	if c.open.Size() >= c.SegmentSize {
		return c.close(ctx)
	}
	return nil
}

// begin begins a segment.
func (c *collector) begin(start log.Start) {
	start.To = c.Recipients
	c.open = log.NewEncoder(start)
}

// makeRoom waits until the open segment can be closed.
func (c *collector) makeRoom(ctx context.Context) error {
	if c.closed != nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case c.segments <- *c.closed:
			c.closed = nil
		}
	}
	return c.close(ctx)
}

// close closes the open segment, if it has events and the one before it is on its way.
func (c *collector) close(ctx context.Context) error {
	if c.closed != nil || c.open.Events() == 0 {
		return nil
	}
	s, err := c.open.Close(c.hash)
	if err != nil {
		return err
	}
	c.closed, c.hash = &s, nil
	c.begin(log.Follows(s.Header, c.Name))
	c.askHash(ctx, s.Header)
	return nil
}

// hashesWithin is how long a member may take for a hash: it reads the whole database, 1 to 8 GB in one to five seconds on a disk of its
// own.
const hashesWithin = time.Minute

// askHash asks for the hash at the end of a segment, if it is time. A later segment has the answer. A member that cannot answer, because
// it has compacted that revision, is asked again when it is time.
func (c *collector) askHash(ctx context.Context, h log.Header) {
	now := c.Now()
	if c.Hash == 0 || !h.Complete || now.Sub(c.hashed) < c.Hash {
		return
	}
	c.lock.Lock()
	source := c.source
	c.lock.Unlock()
	if source == nil {
		return
	}
	c.hashed = now
	c.all.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, hashesWithin)
		defer cancel()
		hash, err := source.HashKV(ctx, h.Last.Revision)
		if err != nil {
			return
		}
		select {
		case c.hashes <- log.HashKV{Hash: hash.Sum, Revision: h.Last.Revision, CompactRevision: hash.Compacted}:
		default: // one waits already
		}
	})
}
