// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
)

const (
	// mostRemembered is how many objects a Memory holds, which is an argument of a process: 8192 marks are 54 KiB as JSON, and Linux
	// takes 128 KiB. Older objects than these are looked at only if they are named.
	mostRemembered = 8192
	// NameSize is how many bytes Names have for each name, and a Memory for each object. That an object has the mark of one of 8192
	// others has a probability of 7e-9.
	NameSize = 5
	// mostUnseen is how many names a listing has of objects that were not looked at.
	mostUnseen = 64000
	// together is how many objects are opened at a time.
	together = 8
)

// Look says which objects a listing may open to see whether they are backups of another program.
type Look struct {
	// Most is how many are opened: the first 128 KiB of each are read, of the newest first.
	Most int
	// Memory is what earlier listings have found out. What is in it is not opened again.
	Memory Memory
	// First are those that are opened first.
	First Names
	// IsDown says whether an error means that the store serves nothing at all, so that no more objects are opened. nil: none does.
	IsDown func(error) bool
}

// Names is a set of names of objects.
type Names []byte

// NamesOf makes the set.
func NamesOf(names []string) (set Names) {
	for _, name := range names {
		set = append(set, nameMark(name)...)
	}
	return set
}

func nameMark(name string) []byte {
	sum := sha256.Sum256([]byte(name))
	return sum[:NameSize]
}

// Has says whether a name is in the set.
func (n Names) Has(name string) bool {
	wanted := nameMark(name)
	for mark := range slices.Chunk(n, NameSize) {
		if bytes.Equal(mark, wanted) {
			return true
		}
	}
	return false
}

// First are so many names of the set at most.
func (n Names) First(most int) Names { return n[:min(len(n), most*NameSize)] }

// Len is how many names are in the set.
func (n Names) Len() int { return len(n) / NameSize }

// Memory is what was found out about objects: the marks of their names, sizes and times, by what the objects are.
type Memory map[string][]byte

// What an object is, beside the Packing of a snapshot.
const (
	isNothing = "nothing" // no snapshot
	isTorn    = "torn"    // a plain snapshot of which the end is missing
	isUnread  = "unread"  // the store has refused to show it
)

func markOf(o Object) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", o.Name, o.Size, o.Modified.UnixNano()))
	return string(sum[:NameSize])
}

// marks are what each object is, by its mark.
func (m Memory) marks() map[string]string {
	all := map[string]string{}
	for what, marks := range m {
		for mark := range slices.Chunk(marks, NameSize) {
			all[string(mark)] = what
		}
	}
	return all
}

// memoryOf keeps what is known, so that the same knowledge is always the same text.
func memoryOf(known map[string]string) Memory {
	m := Memory{}
	for mark, what := range known {
		m[what] = append(m[what], mark...)
	}
	for what, marks := range m {
		sorted := slices.SortedFunc(slices.Chunk(marks, NameSize), bytes.Compare)
		m[what] = slices.Concat(sorted...)
	}
	return m
}

// examined is a candidate, and what is known of it.
type examined struct {
	Foreign
	mark, what string // what: empty if it was not looked at
	first      bool
	err        error
}

// examine finds out what the candidates are: by what is remembered, and then by opening some of the others. Those that could not be
// read come last, so that they keep no other from being looked at.
func (l *lister) examine(ctx context.Context, store Store, look Look) error {
	l.leaveOldest()
	var waiting, unread []*examined
	for _, c := range l.candidates {
		switch c.what = l.remembered[c.mark]; c.what {
		case "":
			waiting = append(waiting, c)
		case isUnread:
			unread = append(unread, c)
		}
	}
	opened, err := open(ctx, store, waiting[:min(len(waiting), look.Most)], look.IsDown)
	if err != nil {
		return err
	}
	if opened < len(waiting) {
		unread = nil // they come after all that wait
	}
	again, err := open(ctx, store, unread[:min(len(unread), look.Most-opened)], look.IsDown)
	if err != nil {
		return err
	}
	if again > 0 {
		for _, c := range unread[again:] {
			c.what = "" // its turn is before those that were just tried
		}
	}
	l.conclude()
	return nil
}

// leaveOldest puts the candidates in the order in which they are looked at, and leaves those out for which a Memory has no room.
func (l *lister) leaveOldest() {
	slices.SortStableFunc(l.candidates, func(a, b *examined) int {
		if a.first != b.first {
			return cmp.Compare(rank(b.first), rank(a.first))
		}
		return b.Object.Modified.Compare(a.Object.Modified)
	})
	known := min(len(l.candidates), mostRemembered)
	for _, c := range l.candidates[known:] {
		l.all.Waiting++
		l.unseen(c)
	}
	clear(l.candidates[known:])
	l.candidates = l.candidates[:known]
}

func (l *lister) unseen(c *examined) {
	if l.all.Unseen.Len() < mostUnseen {
		l.all.Unseen = append(l.all.Unseen, nameMark(c.Object.Name)...)
	}
}

// consider notes a candidate. A bucket may have millions of them: only so many are held as a Memory has room for, some times over.
func (l *lister) consider(f Foreign) {
	_, first := l.first[string(nameMark(f.Object.Name))]
	l.candidates = append(l.candidates, &examined{Foreign: f, mark: markOf(f.Object), first: first})
	if len(l.candidates) >= 4*mostRemembered {
		l.leaveOldest()
	}
}

func (n Names) marks() map[string]struct{} {
	all := map[string]struct{}{}
	for mark := range slices.Chunk(n, NameSize) {
		all[string(mark)] = struct{}{}
	}
	return all
}

func rank(first bool) int {
	if first {
		return 1
	}
	return 0
}

// open reads the first bytes of objects, some at a time, and returns how many. An error of one says nothing of the others.
func open(ctx context.Context, store Store, turn []*examined, isDown func(error) bool) (opened int, err error) {
	for some := range slices.Chunk(turn, together) {
		var wait sync.WaitGroup
		for _, c := range some {
			wait.Go(func() {
				if c.Foreign, c.err = recognise(ctx, store, c.Foreign); c.err != nil {
					c.what = isUnread
				} else {
					c.what = whatIs(c.Foreign)
				}
			})
		}
		wait.Wait()
		opened += len(some)
		if ctx.Err() != nil {
			return opened, context.Cause(ctx)
		}
		if slices.ContainsFunc(some, func(c *examined) bool { return c.err != nil && isDown != nil && isDown(c.err) }) {
			return opened, nil
		}
	}
	return opened, nil
}

// conclude sorts the candidates, by name, into what the listing says.
func (l *lister) conclude() {
	slices.SortFunc(l.candidates, func(a, b *examined) int { return strings.Compare(a.Object.Name, b.Object.Name) })
	known := map[string]string{}
	for _, c := range l.candidates {
		if c.what != "" {
			known[c.mark] = c.what
		}
		switch c.what {
		case "":
			l.all.Waiting++
			l.unseen(c)
		case isUnread:
			l.all.Unread++
			l.unseen(c)
			if c.err != nil && l.all.Trouble == nil {
				l.all.Trouble = c.err
			}
		default:
			l.foreign(c.as(c.what))
		}
	}
	l.all.Memory = memoryOf(known)
}

// whatIs says what a candidate is, as a Memory has it.
func whatIs(f Foreign) string {
	switch {
	case f.Packing == notDatabase:
		return isNothing
	case f.Incomplete:
		return isTorn
	}
	return string(f.Packing)
}

// as is the candidate that is what a Memory says.
func (c *examined) as(what string) Foreign {
	f := c.Foreign
	switch what {
	case isNothing:
		f.Packing = notDatabase
	case isTorn:
		f.Packing, f.Incomplete = Plain, true
	default:
		f.Packing = Packing(what)
	}
	f.NoHash = f.hasNoHash()
	return f
}
