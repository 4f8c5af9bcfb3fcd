// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Config is which log is kept, and how.
type Config struct {
	Store  Store
	Folder log.Folder
	// Name is that of this process. No other one ever has it.
	Name string
	// Base is the revision of the newest full backup of this lineage: the log begins after it, if there is none yet, or if what follows its
	// end was compacted.
	Base      int64
	ClusterID uint64
	// Recipients can read what is written; nobody: it is not encrypted. The writer needs no identity, and has none.
	Recipients encryption.Recipients
	// Connect returns a member that can be read, another one than before if there are several. It is asked again after every error.
	Connect func(ctx context.Context) (Source, error)

	Flush       time.Duration // after which what has come is written; an idle cluster writes nothing
	SegmentSize int           // bytes of events after which a segment is written at once; at most log.MaxSize
	Ask         time.Duration // how often a member is asked how far it is
	Hash        time.Duration // how often a member is asked for HashKV, which holds up writes; 0: never
	// Grace is how long, after the context of Run has ended, what was read by then may still be written; 0: it is not.
	Grace  time.Duration
	Now    func() time.Time
	Report func(Progress) // one call at a time
}

// Progress is how far the log is.
type Progress struct {
	Next     log.Position // the place after the last event in the store
	Until    time.Time    // everything that came until then is in the store; zero: not known yet
	Waiting  int64        // bytes of events that have come, and are not in the store
	Segments int64        // that this process has written

	// What keeps the log from going on right now, and is tried again; nil: nothing.
	StoreProblem, MemberProblem error
}

// FencedError means that another writer has written the segment that was to be written. What it has is the log; this process must end. One
// that is started after it goes on where the log ends then.
type FencedError struct{ Object string }

func (e *FencedError) Error() string {
	return e.Object + " was written by another writer: this one stops"
}

const (
	// retryFirst and retryLast are the shortest and the longest pause before the store or a member is tried again; it doubles in between.
	retryFirst = 100 * time.Millisecond
	retryLast  = 5 * time.Second
)

// Run keeps the log until its context ends, which is no error of its own: it returns that of the context. Then nothing more is read, and
// what was read is written within Grace. What is not in the store after that is read again by the next process.
//
// Errors to be compared: *FencedError; *etcd.CompactedError, after which the log needs a newer full backup as its Base; *AheadError and
// *ForkedError, after which it needs another lineage; an *log.Error if the end of the log is damaged, or an event too large. Everything
// else is tried again for ever, and reported: a store or members that are away. Meanwhile two segments at most wait in memory beside the
// one that is sent, and no member is read.
func Run(ctx context.Context, c Config) error {
	found, err := findEnd(ctx, c.Store, c.Folder)
	if err != nil {
		return err
	}
	start := log.Start{Lineage: c.Folder.Lineage, Writer: c.Name, Base: c.Base, First: log.Position{Revision: c.Base + 1}}
	if found.segment != nil {
		start = log.Follows(found.segment.Header, c.Name)
	}
	written, err := c.from(ctx, start, found.last)
	var compacted *etcd.CompactedError
	if errors.As(err, &compacted) && compacted.Compacted <= c.Base+1 && written.Next.Revision <= c.Base {
		// What follows the end of the log is lost to it. The full backup is newer: the log goes on after that, and says so.
		start := log.Start{Lineage: c.Folder.Lineage, Writer: c.Name, Base: c.Base, First: log.Position{Revision: c.Base + 1}}
		if start.NotBefore = written.Until; found.segment != nil && start.NotBefore.IsZero() {
			start.NotBefore = found.segment.Header.Ended
		}
		_, err = c.from(ctx, start, nil)
	}
	return err
}

// from writes what comes from a place on. It returns how far it came.
func (c Config) from(ctx context.Context, start log.Start, last *log.Event) (Progress, error) {
	reading := ctx
	ctx, stop := graced(reading, c.Grace)
	reading, unread := context.WithCancelCause(reading)
	defer context.AfterFunc(ctx, func() { unread(context.Cause(ctx)) })()
	k := keeper{
		Config: c, batches: make(chan log.Batch), segments: make(chan log.Segment), hashes: make(chan log.HashKV, 1),
		ended: make(chan error), sent: make(chan struct{}), progress: Progress{Next: start.First},
	}
	reader := &Reader{ClusterID: c.ClusterID, From: start.First, Last: last, Ask: c.Ask, Now: c.Now}
	k.all.Go(func() {
		err := k.read(reading, reader)
		select {
		case k.ended <- err:
		case <-reading.Done():
		}
	})
	k.all.Go(func() {
		defer close(k.sent)
		if err := k.send(ctx); err != nil {
			stop(err)
		}
	})
	stop(k.collect(ctx, reading, start))
	unread(context.Cause(ctx))
	k.all.Wait()
	return k.progress, context.Cause(ctx)
}

// graced is a context that ends, with its cause, a while after another one. That it is no longer needed is said by its function.
func graced(ctx context.Context, grace time.Duration) (context.Context, context.CancelCauseFunc) {
	later, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			stop(context.Cause(ctx))
		case <-later.Done():
		}
	})
	return later, func(cause error) {
		unwatch()
		stop(cause)
	}
}

// keeper is one run: a goroutine reads, one collects, one sends.
type keeper struct {
	Config
	batches  chan log.Batch
	segments chan log.Segment
	hashes   chan log.HashKV
	ended    chan error     // why nothing more can be read
	sent     chan struct{}  // closed when nothing more is sent
	all      sync.WaitGroup // goroutines

	lock     sync.Mutex
	progress Progress
	source   Source // that is read; nil: none
}

// report changes the progress and tells it.
func (k *keeper) report(change func(*Progress)) {
	k.lock.Lock()
	defer k.lock.Unlock()
	change(&k.progress)
	if k.Report != nil {
		k.Report(k.progress)
	}
}

// read reads from one member after another.
func (k *keeper) read(ctx context.Context, r *Reader) error {
	retry := newPause()
	for {
		source, err := k.Connect(ctx)
		if err == nil {
			k.setSource(source)
			err = r.Read(ctx, source, func(b log.Batch) error {
				retry = newPause()
				select {
				case k.batches <- b:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
			k.setSource(nil)
		}
		if ctx.Err() != nil || isLasting(err) {
			return err
		}
		k.report(func(p *Progress) { p.MemberProblem = err })
		if err := retry.wait(ctx); err != nil {
			return err
		}
	}
}

func (k *keeper) setSource(s Source) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.source = s
}

// send writes segments, one after the other: none is in the store before the one that it follows.
func (k *keeper) send(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case s, more := <-k.segments:
			if !more {
				return nil
			}
			if err := k.put(ctx, s); err != nil {
				return err
			}
		}
	}
}

// put tries again until the store has the segment: the very same bytes, which are success if an earlier try has written them.
func (k *keeper) put(ctx context.Context, s log.Segment) error {
	object := k.Folder.Object(s.Header.First)
	retry := newPause()
	for {
		err := k.Store.Put(ctx, object, s.Content)
		if err == nil {
			break
		}
		if errors.Is(err, fs.ErrExist) {
			return &FencedError{object}
		}
		k.report(func(p *Progress) { p.StoreProblem = err })
		if err := retry.wait(ctx); err != nil {
			return err
		}
	}
	k.report(func(p *Progress) {
		p.Next, p.Until, p.StoreProblem = s.Header.Next(), s.Header.Ended, nil
		p.Waiting -= s.Header.Size
		p.Segments++
	})
	return nil
}

// pause doubles each time.
type pause struct{ next time.Duration }

func newPause() *pause { return &pause{retryFirst} }

func (p *pause) wait(ctx context.Context) error {
	timer := time.NewTimer(p.next)
	defer timer.Stop()
	p.next = min(2*p.next, retryLast)
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
