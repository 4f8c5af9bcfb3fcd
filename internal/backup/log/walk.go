// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
)

// Change is an event, and when it came by the clock of the writer.
type Change struct {
	Event
	Time time.Time
}

// Walk goes through segments that follow each other, in either direction, and reads each when it comes to it.
type Walk struct {
	Folder   Folder
	Segments []Listed // some that follow each other in the folder, by name
	// Neighbour was read before: the segment before the first one, or after the last one if the walk goes backward. The walk must lead on from
	// it. nil: nothing was read before.
	Neighbour *Listed
	// Load gets a segment from its store. Keys and values are parts of what it returned, or of as much memory again.
	Load       func(object string) ([]byte, error)
	Identities encryption.Identities // that segments which are encrypted need
}

// Forward are the changes from the oldest on, also of a last revision that is not complete. An error ends it: of Load, what Prove and Parse
// find wrong where the walk has come, or InGap where something is not in the log.
func (w Walk) Forward() iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		before := w.Neighbour
		for i := range w.Segments {
			changes, err := w.segment(w.Segments[i], before, nil)
			if !each(changes, err, yield) {
				return
			}
			before = &w.Segments[i]
		}
	}
}

// Backward are the changes from the newest on. It ends as Forward does.
func (w Walk) Backward() iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		after := w.Neighbour
		for i := range slices.Backward(w.Segments) {
			changes, err := w.segment(w.Segments[i], nil, after)
			slices.Reverse(changes)
			if !each(changes, err, yield) {
				return
			}
			after = &w.Segments[i]
		}
	}
}

func each(changes []Change, err error, yield func(Change, error) bool) (more bool) {
	if err != nil {
		yield(Change{}, err)
		return false
	}
	for _, c := range changes {
		if !yield(c, nil) {
			return false
		}
	}
	return true
}

// segment are the changes of one, whose neighbour on one side was read before.
func (w Walk) segment(listed Listed, before, after *Listed) ([]Change, error) {
	if err := listed.belongs(w.Folder); err != nil {
		return nil, err
	}
	if before != nil {
		if err := listed.continues(*before); err != nil {
			return nil, err
		}
	}
	if after != nil {
		if err := after.continues(listed); err != nil {
			return nil, err
		}
	}
	s, err := listed.open(w.Load)
	if err != nil {
		return nil, err
	}
	changes := make([]Change, 0, listed.Header.Events)
	for b, err := range s.Batches(listed.Object, w.Identities) {
		if err != nil {
			return nil, err
		}
		for _, e := range b.Events {
			changes = append(changes, Change{e, b.Time})
		}
	}
	return changes, nil
}

// open gets a segment from its store: the very one that was listed.
func (s Listed) open(load func(object string) ([]byte, error)) (Segment, error) {
	content, err := load(s.Object)
	if err != nil {
		return Segment{}, fmt.Errorf("read segment %s: %w", s.Object, err)
	}
	opened, err := Parse(s.Object, content)
	if err != nil {
		return Segment{}, err
	}
	if opened.Header.Sum != s.Header.Sum {
		return Segment{}, wrong(Forked, s.Object, "it has become another one since it was listed")
	}
	return opened, nil
}

// continues is an error also where a gap is said.
func (s Listed) continues(before Listed) error {
	if err := s.follows(before); err != nil {
		return err
	}
	if from := before.Header.Next(); s.Header.First != from {
		return wrong(InGap, s.Object, "nothing was logged from %s up to it", from).between(from, s.Header.First)
	}
	return nil
}

// Deletion is where a key was deleted. What was there just before is Target{Before: Revision}.
type Deletion struct {
	Revision int64
	Time     time.Time
}

// LastDeletion finds the newest deletion of a key, from the end of the log. It reads no segment before that. Where the log does not have
// it, the *Error is of kind NotFound; or what ended the walk, as a newer deletion may be in what cannot be read.
func (w Walk) LastDeletion(key []byte) (Deletion, error) {
	for c, err := range w.Backward() {
		if err != nil {
			return Deletion{}, err
		}
		if c.Deleted && bytes.Equal(c.Key, key) {
			return Deletion{c.Revision, c.Time}, nil
		}
	}
	if len(w.Segments) == 0 {
		return Deletion{}, wrong(NotFound, "", "there is no log")
	}
	return Deletion{}, wrong(NotFound, "", "the key was not deleted since %s, where the log begins", w.Segments[0].Header.First)
}
