// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/state"
)

// TestState: the newest put of each key below the prefix is there, unless it was deleted.
func TestState(t *testing.T) {
	s := state.New([]byte("/shop/"))
	apply(t, s, "put /shop/a 1", "put /bank/a 1", "put /shop/b 1", "put /shop/a 2", "delete /shop/b", "put /shop/b 3", "put /shop/c 1",
		"delete /shop/c", "put /shop 1", "delete /bank/a")
	if got, want := keys(t, s.Keys()), []string{"/shop/a=2 @4 v2", "/shop/b=3 @6 v1"}; !slices.Equal(got, want) || s.Len() != 2 {
		t.Errorf("%q", got)
	}
	all := state.New(nil)
	apply(t, all, "put b 1", "put a 1")
	if got, want := keys(t, all.Keys()), []string{"a=1 @2 v1", "b=1 @1 v1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestStateKeepsItsOwn: the buffer of a segment is used again.
func TestStateKeepsItsOwn(t *testing.T) {
	s := state.New(nil)
	e := log.Event{Revision: 1, Key: []byte("a"), Value: []byte("1"), CreateRevision: 1, Version: 1, Lease: 7}
	if err := s.Apply(e); err != nil {
		t.Fatal(err)
	}
	e.Key[0], e.Value[0] = 'x', 'x'
	for k := range s.Keys() {
		if string(k.Key) != "a" || string(k.Value) != "1" || k.Lease != 7 || k.CreateRevision != 1 {
			t.Errorf("%+v", k)
		}
	}
}

// TestStateWantsTheOrder of the history, also of keys that it does not keep.
func TestStateWantsTheOrder(t *testing.T) {
	for _, at := range []log.Position{{Revision: 5, Sub: 1}, {Revision: 5}, {Revision: 4, Sub: 9}} {
		s := state.New([]byte("/shop/"))
		if err := s.Apply(log.Event{Revision: 5, Sub: 1, Key: []byte("k"), Deleted: true}); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(log.Event{Revision: at.Revision, Sub: at.Sub, Key: []byte("k"), Deleted: true}); err == nil {
			t.Errorf("%s is taken", at)
		}
	}
}

// TestAt: parts follow each other, and one that breaks is no state.
func TestAt(t *testing.T) {
	part := func(end error, revisions ...int64) iter.Seq2[log.Event, error] {
		return func(yield func(log.Event, error) bool) {
			for _, revision := range revisions {
				if !yield(log.Event{Revision: revision, Key: fmt.Append(nil, revision), CreateRevision: revision, Version: 1}, nil) {
					return
				}
			}
			if end != nil {
				yield(log.Event{}, end)
			}
		}
	}
	if s, err := state.At(nil, part(nil, 1, 2), part(nil, 3)); err != nil || s.Len() != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	broken := errors.New("the store is gone")
	if s, err := state.At(nil, part(nil, 1), part(broken, 2)); !errors.Is(err, broken) || s != nil {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := state.At(nil, part(nil, 1, 2), part(nil, 2)); err == nil || s != nil {
		t.Errorf("they overlap: %+v", s)
	}
}

// TestDiff, and how it is taken back.
func TestDiff(t *testing.T) {
	was, is := state.New(nil), state.New(nil)
	lines := []string{"put same 1", "put deleted 1", "put changed 1", "put empty -", "put back 1"}
	apply(t, was, lines...)
	apply(t, is, append(lines, "delete deleted", "put changed 2", "put added 1", "put empty x", "put back 2", "put back 1")...)
	var got []string
	for d, err := range state.Diff(was.Keys(), is.Keys()) {
		if err != nil {
			t.Fatal(err)
		}
		u := d.Undo()
		do := fmt.Sprintf("put %q", u.Value)
		if u.Delete {
			do = "delete"
		}
		got = append(got, fmt.Sprintf("%s is %s: %s if it is of %d", d.Key(), d.Kind, do, u.ModRevision))
	}
	want := []string{
		"added is added: delete if it is of 8",
		`changed is changed: put "1" if it is of 7`,
		`deleted is deleted: put "1" if it is of 0`,
		`empty is changed: put "" if it is of 9`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestUndone: all of it carried out gives the state as it was, whatever came in between.
func TestUndone(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		was, is := state.New([]byte("k")), state.New([]byte("k"))
		lines := randomLines(random, 60)
		apply(t, was, lines[:random.IntN(60)]...)
		apply(t, is, lines...)
		now := valuesOf(t, is)
		for d, err := range state.Diff(was.Keys(), is.Keys()) {
			if err != nil {
				t.Fatal(err)
			}
			if u := d.Undo(); u.Delete {
				delete(now, string(u.Key))
			} else {
				now[string(u.Key)] = string(u.Value)
			}
		}
		if want := valuesOf(t, was); !maps.Equal(now, want) {
			t.Errorf("%v, not %v", now, want)
		}
	}
}

// TestDiffEnds with the error of either side, and if the keys are not sorted: a key that is read twice could count as added.
func TestDiffEnds(t *testing.T) {
	broken := errors.New("the member is gone")
	sequence := func(end error, names ...string) iter.Seq2[state.Key, error] {
		return func(yield func(state.Key, error) bool) {
			for _, name := range names {
				if !yield(state.Key{Key: []byte(name)}, nil) {
					return
				}
			}
			if end != nil {
				yield(state.Key{}, end)
			}
		}
	}
	for name, c := range map[string]struct {
		was, is iter.Seq2[state.Key, error]
		want    int // differences before the error
	}{
		"the old side breaks":  {sequence(broken, "a", "b"), sequence(nil, "a"), 0},
		"the new side breaks":  {sequence(nil, "a", "b", "c"), sequence(broken, "b"), 1},
		"it breaks at once":    {sequence(broken), sequence(nil, "a"), 0},
		"not sorted":           {sequence(nil, "b", "a"), sequence(nil, "b"), 0},
		"the same twice, live": {sequence(nil), sequence(nil, "a", "a"), 0},
	} {
		var err error
		count := 0
		for _, problem := range state.Diff(c.was, c.is) {
			if err = problem; err == nil {
				count++
			}
		}
		if err == nil || strings.Contains(name, "break") && !errors.Is(err, broken) || count < c.want {
			t.Errorf("%s: %d differences, %v", name, count, err)
		}
	}
}

// apply applies lines, each of which is a revision.
func apply(t *testing.T, s *state.State, lines ...string) {
	t.Helper()
	versions := map[string]int64{}
	for n, line := range lines {
		words := strings.Fields(line)
		key := words[1]
		e := log.Event{Revision: int64(n + 1), Key: []byte(key), Deleted: words[0] == "delete"}
		if versions[key]++; e.Deleted {
			versions[key] = 0
		} else {
			e.Value, e.Version, e.CreateRevision = []byte(strings.Trim(words[2], "-")), versions[key], 1
		}
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
}

func randomLines(random *rand.Rand, count int) (lines []string) {
	for n := range count {
		key := fmt.Sprintf("%s%d", []string{"k", "j"}[random.IntN(2)], random.IntN(8))
		if random.IntN(3) == 0 {
			lines = append(lines, "delete "+key)
		} else {
			lines = append(lines, fmt.Sprintf("put %s %d", key, n%5))
		}
	}
	return lines
}

func keys(t *testing.T, all iter.Seq2[state.Key, error]) (texts []string) {
	t.Helper()
	for k, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprintf("%s=%s @%d v%d", k.Key, k.Value, k.ModRevision, k.Version))
	}
	return texts
}

func valuesOf(t *testing.T, s *state.State) map[string]string {
	t.Helper()
	all := map[string]string{}
	for k, err := range s.Keys() {
		if err != nil {
			t.Fatal(err)
		}
		all[string(k.Key)] = string(k.Value)
	}
	return all
}
