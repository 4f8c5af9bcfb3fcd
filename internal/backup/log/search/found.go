// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// found is what a query has found so far.
type found struct {
	Query
	yield func(Change, error) bool
	count int

	values map[string]Before // the oldest first: what each key has now
	held   int               // bytes of keys and values that are kept for Before

	queue   []Change       // the newest first: those that were not returned yet
	missing int            // how many of these wait for the value before
	waiting map[string]int // of each key, the place in the queue of the change that waits, counted from the first one ever
	gone    int            // how many were returned of the queue
}

// see takes the next change; no more are wanted if it says so.
func (f *found) see(c log.Change) (more bool) {
	isWanted := f.isOf(c.Key)
	if isWanted {
		c.Key, c.Value = bytes.Clone(c.Key), bytes.Clone(c.Value)
	}
	if f.Newest {
		return f.seeOlder(c, isWanted)
	}
	return f.seeNewer(c, isWanted)
}

func (f *found) seeNewer(c log.Change, isWanted bool) (more bool) {
	if f.isLater(c.Revision, c.Time) {
		return false
	}
	if !isWanted {
		return true
	}
	before := f.values[string(c.Key)]
	if f.Before {
		f.remember(c)
	}
	return f.isEarlier(c.Revision, c.Time) || f.leavesOut(c) || f.give(c, before)
}

// remember keeps what the key has now. What there is no room for is forgotten, and is not known then.
func (f *found) remember(c log.Change) {
	size := len(c.Key) + len(c.Value)
	if old, has := f.values[string(c.Key)]; has {
		f.held -= len(c.Key) + len(old.Value)
	}
	if f.held += size; f.isFull() {
		f.values, f.held = map[string]Before{}, size
	}
	f.values[string(c.Key)] = Before{Known: true, Value: c.Value}
}

func (f *found) isFull() bool { return f.Memory > 0 && f.held > f.Memory }

func (f *found) leavesOut(c log.Change) bool { return f.Deletions && !c.Deleted }

func (f *found) seeOlder(c log.Change, isWanted bool) (more bool) {
	isEnough := f.isEarlier(c.Revision, c.Time) || f.Limit > 0 && f.count == f.Limit
	if isEnough && f.missing == 0 {
		return false
	}
	if !isWanted {
		return true
	}
	f.answer(c)
	if !isEnough && !f.isLater(c.Revision, c.Time) && !f.leavesOut(c) {
		f.keep(c)
	}
	return f.drain()
}

// give returns a change, the oldest first.
func (f *found) give(c log.Change, before Before) (more bool) {
	f.count++
	return f.yield(f.with(c, before), nil) && f.count != f.Limit
}

// with is a change with what was before it.
func (f *found) with(c log.Change, before Before) Change {
	switch {
	case !f.Before:
		return Change{Change: c}
	case isFirst(c):
		before = Before{Known: true}
	}
	return Change{c, before}
}

// isFirst says whether the key did not exist before.
func isFirst(c log.Change) bool { return !c.Deleted && c.Version == 1 }

// keep queues a change, the newest first.
func (f *found) keep(c log.Change) {
	f.count++
	f.held += len(c.Key) + len(c.Value)
	f.queue = append(f.queue, f.with(c, Before{}))
	if f.Before && !isFirst(c) {
		f.waiting[string(c.Key)] = f.gone + len(f.queue) - 1
		f.missing++
	}
}

// answer gives a change, seen before, what this older one of the same key has left there.
func (f *found) answer(c log.Change) {
	if i, waits := f.waiting[string(c.Key)]; waits {
		f.queue[i-f.gone].Before = Before{Known: true, Value: c.Value}
		f.held += len(c.Value)
		delete(f.waiting, string(c.Key))
		f.missing--
	}
}

// drain returns those at the head of the queue that wait for nothing.
func (f *found) drain() (more bool) {
	for len(f.queue) > 0 {
		c := f.queue[0]
		if i, waits := f.waiting[string(c.Key)]; waits && i == f.gone {
			if !f.isFull() {
				break
			}
			delete(f.waiting, string(c.Key))
			f.missing--
		}
		if !f.pop() {
			return false
		}
	}
	return f.Limit == 0 || f.count < f.Limit || f.missing > 0
}

func (f *found) pop() (more bool) {
	c := f.queue[0]
	f.queue = f.queue[1:]
	f.held -= len(c.Key) + len(c.Value) + len(c.Before.Value)
	f.gone++
	return f.yield(c, nil)
}

// flush returns what has waited in vain.
func (f *found) flush() (more bool) {
	for len(f.queue) > 0 {
		if !f.pop() {
			return false
		}
	}
	return true
}
