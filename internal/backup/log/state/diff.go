// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
)

// Kind is what has become of a key since the moment.
type Kind string

// Every kind.
const (
	Added   Kind = "added"   // it is there, and was not
	Changed Kind = "changed" // it has another value. Its lease is not compared: the one that it had may have ended since
	Deleted Kind = "deleted" // it was there, and is not
)

// Difference is a key that is not as it was.
type Difference struct {
	Kind Kind
	Was  *Key // nil if it was added
	Is   *Key // nil if it was deleted
}

// Key is the one that is different.
func (d Difference) Key() []byte {
	if d.Is != nil {
		return d.Is.Key
	}
	return d.Was.Key
}

// Diff compares the keys as they were with those that are there now. Both are below the same prefix, and sorted by their bytes, each once,
// so that none of them is in memory as a whole. An error of either ends it, and one that says that the order is another one.
func Diff(was, is iter.Seq2[Key, error]) iter.Seq2[Difference, error] {
	return func(yield func(Difference, error) bool) {
		old, stopOld := read(was)
		defer stopOld()
		now, stopNow := read(is)
		defer stopNow()
		for {
			d, isDifferent, err := next(old, now)
			switch {
			case err != nil:
				yield(Difference{}, err)
				return
			case d == Difference{}, isDifferent && !yield(d, nil):
				return
			}
		}
	}
}

// next compares the next keys of both, and goes on after what it has compared. After the last one it returns no key.
func next(old, now *reading) (d Difference, isDifferent bool, err error) {
	a, errOld := old.peek()
	b, errNow := now.peek()
	if err := cmp.Or(errOld, errNow); err != nil || a == nil && b == nil {
		return Difference{}, false, err
	}
	d, isDifferent = compare(a, b)
	if d.Was != nil {
		old.next()
	}
	if d.Is != nil {
		now.next()
	}
	return d, isDifferent, nil
}

// compare takes the smaller of both keys, or both if they are the same one.
func compare(a, b *Key) (d Difference, isDifferent bool) {
	switch {
	case b == nil || a != nil && bytes.Compare(a.Key, b.Key) < 0:
		return Difference{Kind: Deleted, Was: a}, true
	case a == nil || bytes.Compare(a.Key, b.Key) > 0:
		return Difference{Kind: Added, Is: b}, true
	default:
		return Difference{Kind: Changed, Was: a, Is: b}, !bytes.Equal(a.Value, b.Value)
	}
}

// reading is a sorted sequence of which the next key can be looked at.
type reading struct {
	pull func() (Key, error, bool)
	key  *Key
	err  error
	last []byte
}

func read(keys iter.Seq2[Key, error]) (r *reading, stop func()) {
	pull, stop := iter.Pull2(keys)
	r = &reading{pull: pull}
	r.next()
	return r, stop
}

// peek is the next key; nil if there is none any more.
func (r *reading) peek() (*Key, error) { return r.key, r.err }

func (r *reading) next() {
	key, err, more := r.pull()
	switch {
	case !more:
		r.key = nil
	case err != nil:
		r.key, r.err = nil, err
	case r.last != nil && bytes.Compare(key.Key, r.last) <= 0:
		r.key, r.err = nil, fmt.Errorf("keys are not sorted: %q comes after %q", key.Key, r.last)
	default:
		r.key, r.last = &key, key.Key
	}
}

// Undo makes a key as it was. It is for a transaction that compares first: what was changed since the comparison stays.
type Undo struct {
	Key    []byte
	Delete bool   // the key; else it is put with the value
	Value  []byte // without a lease: the one that it had is not that of today
	// ModRevision is that which the key must still have; 0: it must not exist.
	ModRevision int64
}

// Undo takes the difference back.
func (d Difference) Undo() Undo {
	u := Undo{Key: d.Key(), Delete: d.Was == nil}
	if d.Was != nil {
		u.Value = d.Was.Value
	}
	if d.Is != nil {
		u.ModRevision = d.Is.ModRevision
	}
	return u
}
