// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package writer keeps the continuous log of a cluster: it reads every change from a member and writes segments to a store.
//
// It must never write a segment that does not follow the newest one in the store, never skip an event that it cannot read, and never hold
// more than some segments: while the store does not take them, the member is not read.
package writer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// Source is a member that is read. It is a part of etcd.Client.
type Source interface {
	Status(ctx context.Context) (etcd.Status, error)
	Revision(ctx context.Context) (int64, error)
	History(ctx context.Context, from int64, ask time.Duration, each func(etcd.Delivery) error) error
	HashKV(ctx context.Context, revision int64) (etcd.Hash, error)
}

// Reader reads the history of a cluster from one place on.
type Reader struct {
	ClusterID uint64       // that the member must have
	From      log.Position // the first event that is wanted
	// Last is the event before From, as the log has it; nil if the log begins at From. It is read once more: another one there is another
	// history. Without a key it is known in outline: the rest is compared.
	Last *log.Event
	// Ask is how often the member is asked how far it is. A member that leaves twelve questions without an answer is given up.
	Ask time.Duration
	Now func() time.Time

	reached int64 // that the member says it has delivered
}

const (
	// answersWithin is how long a member may take for an answer that costs it little.
	answersWithin = 10 * time.Second
	// batchSize is how many bytes of events a batch has at most, unless one event has more. A member may send 32 MiB at once.
	batchSize = 1 << 20
)

// AheadError means that the log has revisions that the cluster does not have: its data was set back, by a restore or by a recovery
// that lost acknowledged writes. What it writes from now on is another history, and needs another lineage.
type AheadError struct {
	Log, Cluster int64 // revisions
}

func (e *AheadError) Error() string {
	return fmt.Sprintf("the log has revision %d, and the cluster is at revision %d: its data was set back", e.Log, e.Cluster)
}

// ForkedError means that the cluster has another event where the log ends: both have different histories, and the cluster needs another
// lineage.
type ForkedError struct{ At log.Position }

func (e *ForkedError) Error() string {
	return fmt.Sprintf("the cluster has another change at %s than the log: its data was set back, and has gone on", e.At)
}

// LostError means that a member left out events. None of them is in the log: read them from it again, or from another member.
type LostError struct {
	Expected log.Position
	Found    string // in words
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the member left out %s: %s", e.Expected, e.Found)
}

// OtherClusterError means that an address answers for another cluster.
type OtherClusterError struct{ Want, Got uint64 }

func (e *OtherClusterError) Error() string {
	return fmt.Sprintf("the member is of cluster %x, not of %x", e.Got, e.Want)
}

// Read calls each with what is written, in batches that follow each other from From on, until the context ends or each returns an error.
// each is called with no events when the member says that it has delivered everything so far.
//
// Errors to be compared: *etcd.CompactedError, *log.VersionError, *AheadError, *ForkedError, *LostError, *OtherClusterError,
// *etcd.SilenceError. After one, From and Last are where the next Read goes on.
func (r *Reader) Read(ctx context.Context, from Source, each func(log.Batch) error) error {
	reached, err := r.check(ctx, from)
	if err != nil {
		return err
	}
	// etcd does not say how far it is to a watch from a revision that is still to come. So it begins with the newest that there is.
	start := min(r.From.Revision, reached)
	if r.Last != nil {
		start = r.Last.Revision
	}
	seen := r.Last == nil // the place before From
	return from.History(ctx, start, r.Ask, func(d etcd.Delivery) error {
		rest, err := r.skip(d.Events, &seen)
		if err != nil {
			return err
		}
		if r.reached = d.Complete; len(rest) == 0 {
			return r.progressed(d, each)
		}
		return r.deliver(rest, d.Complete, each)
	})
}

// check asks whether the member can be read, and has what was read before; and what revision it has reached.
func (r *Reader) check(ctx context.Context, from Source) (revision int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	status, err := from.Status(ctx)
	switch {
	case err != nil:
		return 0, err
	case r.ClusterID != 0 && status.ClusterID != r.ClusterID:
		return 0, &OtherClusterError{Want: r.ClusterID, Got: status.ClusterID}
	}
	if err := log.CheckVersion(status.Version); err != nil {
		return 0, err
	}
	// A member that is behind would wait for the revision; one that reads linearizably is not.
	revision, err = from.Revision(ctx)
	if err != nil {
		return 0, err
	}
	if revision == 0 {
		return 0, errors.New("the member answers its user root only: authentication is enabled in etcd")
	}
	if has := r.From.Revision - 1; revision < has {
		return 0, &AheadError{Log: has, Cluster: revision}
	}
	return revision, nil
}

// skip drops what is in the log, and compares the last of it.
func (r *Reader) skip(events []etcd.Event, seen *bool) ([]etcd.Event, error) {
	for len(events) > 0 {
		e := log.Event(events[0])
		if e.Position().Compare(r.From) >= 0 {
			break
		}
		if r.Last != nil && e.Position() == r.Last.Position() {
			if !equal(e, *r.Last) {
				return nil, &ForkedError{e.Position()}
			}
			*seen = true
		}
		events = events[1:]
	}
	if len(events) > 0 && !*seen {
		return nil, &ForkedError{r.Last.Position()}
	}
	return events, nil
}

// equal compares an event with the one that the log has.
func equal(a, b log.Event) bool {
	isSame := len(b.Key) == 0 || bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value)
	return isSame && a.Deleted == b.Deleted &&
		a.CreateRevision == b.CreateRevision && a.Version == b.Version && a.Lease == b.Lease
}

// progressed is called when a member says how far it is. Every revision has an event: what it says it has delivered, and has not, is a
// hole.
func (r *Reader) progressed(d etcd.Delivery, each func(log.Batch) error) error {
	if len(d.Events) == 0 && d.Complete >= r.From.Revision {
		return &LostError{r.From, fmt.Sprintf("it says that it has sent everything up to revision %d", d.Complete)}
	}
	if len(d.Events) > 0 {
		return nil // all of it is in the log
	}
	return each(log.Batch{Time: r.Now(), Complete: true})
}

// deliver cuts what has come at once into batches.
func (r *Reader) deliver(events []etcd.Event, complete int64, each func(log.Batch) error) error {
	if err := r.follow(events); err != nil {
		return err
	}
	b := log.Batch{Time: r.Now()}
	size := 0
	for i, event := range events {
		e := log.Event(event)
		last := i == len(events)-1
		b.Events = append(b.Events, e)
		b.Complete = last && e.Revision <= complete || !last && events[i+1].Revision > e.Revision
		r.From = after(e, b.Complete)
		r.Last = &e
		if size += log.SizeOf(e); size < batchSize && !last {
			continue
		}
		if err := each(b); err != nil {
			return err
		}
		b.Events, size = nil, 0
	}
	return nil
}

func after(e log.Event, complete bool) log.Position {
	if complete {
		return log.Position{Revision: e.Revision + 1}
	}
	return log.Position{Revision: e.Revision, Sub: e.Sub + 1}
}

// follow counts all events before any of them is delivered.
func (r *Reader) follow(events []etcd.Event) error {
	expected := r.From
	for i, event := range events {
		e := log.Event(event)
		next := i > 0 && e.Position() == log.Position{Revision: expected.Revision + 1}
		if e.Position() != expected && !next {
			return &LostError{expected, e.Position().String() + " comes next"}
		}
		expected = after(e, false)
	}
	return nil
}

// isLasting says whether another member, or the same one later, answers in the same way.
func isLasting(err error) bool {
	return errors.Is(err, etcd.ErrCompacted) || errors.Is(err, log.TooLarge) || as[*AheadError](err) || as[*ForkedError](err)
}

func as[E error](err error) bool {
	var found E
	return errors.As(err, &found)
}
