// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

func (s stored) walk() log.Walk {
	return log.Walk{Folder: folder, Segments: s.listed, Load: s.load}
}

// TestWalkBothWays: forward it is the history, and backward the same the other way round, with the times.
func TestWalkBothWays(t *testing.T) {
	for seed := range uint64(5) {
		batches := history(seed, 20)
		a := newPerson(t)
		s := sealed(t, batches, 1+int(seed), to(t), to(t, a))
		w := s.walk()
		w.Identities = of(a)
		var want, forward, backward []log.Change
		for _, b := range batches {
			for _, e := range b.Events {
				want = append(want, log.Change{Event: e, Time: b.Time})
			}
		}
		for c, err := range w.Forward() {
			forward = append(forward, must(c, err)(t))
		}
		for c, err := range w.Backward() {
			backward = append(backward, must(c, err)(t))
		}
		slices.Reverse(backward)
		for name, got := range map[string][]log.Change{"forward": forward, "backward": backward} {
			if !slices.EqualFunc(got, want, sameChange) {
				t.Errorf("%s: %d changes of %d", name, len(got), len(want))
			}
		}
	}
}

func sameChange(a, b log.Change) bool { return a.Time.Equal(b.Time) && sameEvent(a.Event, b.Event) }

// TestWalkEnds where something is not in the log, is not what was listed, or cannot be read; what comes before was returned.
func TestWalkEnds(t *testing.T) {
	whole := store(t, history(7, 24), 3)
	gap := store(t, history(7, 24), 3)
	gap.restart(t, 20)
	without := func(i int) stored {
		s := whole
		s.listed = slices.Delete(slices.Clone(s.listed), i, i+1)
		return s
	}
	other := store(t, history(9, 24), 3)
	other.listed = whole.listed
	for name, c := range map[string]struct {
		s                 stored
		forward, backward int // segments that are read
		want              error
	}{
		"one is missing":   {without(3), 3, 4, log.Missing},
		"a gap":            {gap, 8, 1, log.InGap},
		"become another":   {other, 0, 0, nil}, // of other names
		"nothing is wrong": {whole, 8, 8, nil},
	} {
		count := func(changes func(func(log.Change, error) bool)) (events int64, err error) {
			for _, err = range changes {
				if err == nil {
					events++
				}
			}
			return events, err
		}
		w := c.s.walk()
		for way, changes := range map[string]func(func(log.Change, error) bool){"forward": w.Forward(), "backward": w.Backward()} {
			n := c.forward
			segments := slices.Clone(c.s.listed)
			if way == "backward" {
				n = c.backward
				slices.Reverse(segments)
			}
			want := int64(0)
			for _, l := range segments[:n] {
				want += l.Header.Events
			}
			events, err := count(changes)
			if events != want || (err == nil) != (n == len(segments)) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%s, %s: %d events, not %d: %v", name, way, events, want, err)
			}
		}
	}
	foreign := whole.walk()
	foreign.Folder.Lineage = "other-0"
	for _, err := range foreign.Forward() {
		if !errors.Is(err, log.Foreign) {
			t.Errorf("another folder: %v", err)
		}
	}
}

// TestLastDeletion: what was there just before has the key, and nothing that was read is older than the segment of the deletion.
func TestLastDeletion(t *testing.T) {
	for seed := range uint64(6) {
		batches := history(seed, 40)
		s := store(t, batches, 2)
		keys := map[string]bool{"nobody has it": true}
		for _, b := range batches {
			for _, e := range b.Events {
				keys[string(e.Key)] = true
			}
		}
		for key := range keys {
			want, at := int64(0), time.Time{}
			for _, b := range batches {
				for _, e := range b.Events {
					if e.Deleted && string(e.Key) == key {
						want, at = e.Revision, b.Time
					}
				}
			}
			w, loaded := s.walk(), ""
			w.Load = func(object string) ([]byte, error) { loaded = object; return s.load(object) }
			got, err := w.LastDeletion([]byte(key))
			if want == 0 {
				if !errors.Is(err, log.NotFound) {
					t.Errorf("%q: %+v, %v", key, got, err)
				}
				continue
			}
			if err != nil || got.Revision != want || !got.Time.Equal(at) {
				t.Fatalf("%q: %+v, not %d at %s: %v", key, got, want, at, err)
			}
			if !hasDeletion(t, s, loaded, key, want) {
				t.Errorf("%q: it read on up to %s", key, loaded)
			}
		}
	}
	if _, err := (log.Walk{Folder: folder}).LastDeletion([]byte("k")); !errors.Is(err, log.NotFound) {
		t.Errorf("no log: %v", err)
	}
}

func hasDeletion(t *testing.T, s stored, object, key string, revision int64) bool {
	t.Helper()
	for b, err := range must(log.Parse(object, s.content[object]))(t).Batches(object) {
		for _, e := range must(b, err)(t).Events {
			if e.Deleted && e.Revision == revision && bytes.Equal(e.Key, []byte(key)) {
				return true
			}
		}
	}
	return false
}

// TestLastDeletionMayBeInAGap: then no older one is the last.
func TestLastDeletionMayBeInAGap(t *testing.T) {
	s := stored{content: map[string][]byte{}}
	deleted := log.Event{Revision: base + 1, Key: []byte("key"), Deleted: true}
	s.add(encode(t, log.Start{Lineage: folder.Lineage, Writer: "w1", Base: base, First: log.Position{Revision: base + 1}},
		[]log.Batch{{Time: noon, Events: []log.Event{deleted}, Complete: true}}))
	if got, err := s.walk().LastDeletion([]byte("key")); err != nil || got.Revision != base+1 {
		t.Errorf("%+v, %v", got, err)
	}
	s.restart(t, 20)
	if got, err := s.walk().LastDeletion([]byte("key")); !errors.Is(err, log.InGap) {
		t.Errorf("%+v, %v", got, err)
	}
}
