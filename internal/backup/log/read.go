// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import (
	"bytes"
	"iter"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
)

// Reading follows a plan from its full backup to its target.
type Reading struct {
	// Reached is the last revision that was returned, all of it; that of the full backup at first.
	Reached int64
	// At is the time of the batch in which it came; zero if it is that of the full backup.
	At time.Time
	// Left is what comes after the target in the last segment that was read: the first thing that a restore leaves out. Its Revision is 0 if
	// there is nothing. It has no events.
	Left struct {
		Revision int64
		Time     time.Time
		Events   int64
	}

	plan       Plan
	identities encryption.Identities

	pending []Event // of a revision that is not complete yet
	owned   int     // of these: copies, which do not depend on a segment
}

// Follow begins a reading. The identities are needed for segments that are encrypted.
func (p Plan) Follow(identities ...encryption.Identities) *Reading {
	return &Reading{Reached: p.Base.Revision, plan: p, identities: one(identities)}
}

// Events are those of the plan, in the order of the history, as whole revisions. load gets a segment from its store, one at a time; keys
// and values are parts of what it returned, or of as much memory again, until the next segment. An error ends it: of load, or an *Error if
// a segment is not the one of the plan, or if the target is not reached.
func (r *Reading) Events(load func(object string) ([]byte, error)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, listed := range r.plan.Segments {
			more, err := r.segment(listed, load, yield)
			if err != nil {
				yield(Event{}, err)
			}
			if err != nil || !more {
				return
			}
		}
		if want, isRevision := r.plan.Target.last(); isRevision && r.Reached < want {
			yield(Event{}, wrong(TooLate, "", "the log ends with revision %d, before revision %d", r.Reached, want).
				between(Position{r.Reached + 1, 0}, Position{want, 0}))
		}
	}
}

// segment returns the events of one; more is false if no more are wanted.
func (r *Reading) segment(listed Listed, load func(string) ([]byte, error), yield func(Event, error) bool) (more bool, err error) {
	s, err := listed.open(load)
	if err != nil {
		return false, err
	}
	for batch, err := range s.Batches(listed.Object, r.identities) {
		if err != nil {
			return false, err
		}
		if !r.batch(batch, yield) {
			return false, nil
		}
	}
	return true, nil
}

// batch returns what ends a revision. Events of one that goes on in the next batch are copied: their segment may be gone by then.
func (r *Reading) batch(b Batch, yield func(Event, error) bool) bool {
	for i, e := range b.Events {
		switch {
		case r.plan.Target.isBefore(b, e):
			r.leave(b, e)
			continue
		case e.Revision <= r.Reached:
			continue // it is in the full backup
		}
		r.pending = append(r.pending, e)
		if b.ends(i) && !r.emit(b.Time, yield) {
			return false
		}
	}
	for ; r.owned < len(r.pending); r.owned++ {
		e := &r.pending[r.owned]
		e.Key, e.Value = bytes.Clone(e.Key), bytes.Clone(e.Value)
	}
	return true
}

// isBefore says whether an event comes after the target.
func (t Target) isBefore(b Batch, e Event) bool {
	if last, isRevision := t.last(); isRevision {
		return e.Revision > last
	}
	return b.Time.After(t.Time)
}

// ends says whether an event is the last one of its revision.
func (b Batch) ends(i int) bool {
	if i == len(b.Events)-1 {
		return b.Complete
	}
	return b.Events[i+1].Revision > b.Events[i].Revision
}

// emit returns the revision that is complete.
func (r *Reading) emit(at time.Time, yield func(Event, error) bool) bool {
	for _, e := range r.pending {
		if !yield(e, nil) {
			return false
		}
	}
	r.Reached, r.At = r.pending[0].Revision, at
	r.pending, r.owned = r.pending[:0], 0
	return true
}

func (r *Reading) leave(b Batch, e Event) {
	if r.Left.Revision == 0 {
		r.Left.Revision, r.Left.Time = e.Revision, b.Time
		if len(r.pending) > 0 && r.pending[0].Revision <= e.Revision {
			r.Left.Revision = r.pending[0].Revision
		}
	}
	r.Left.Events++
}
