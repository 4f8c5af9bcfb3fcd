// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package target finds out what a point in time restore means: which full backup it begins with, which lineage of the log leads on from
// there, and up to which revision. The members are then restored to that revision, whatever the target was, so that all of them get the
// same data.
//
// Which lineage continues a full backup is not written in the backup. Its manifest names the ID of the cluster, and so does each lineage,
// beside a number that grows with each restore and recovery. Of the lineages with that ID, the one with the highest number that has the
// first change after the backup, or begins earlier, continues it: a later lineage begins after a full backup of its own.
//
// It must never guess: where the log does not show that everything up to the target is there, the answer is an *Error, which names the
// nearest moments that can be restored.
package target

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// Target is what data is to be restored to. One of Revision, Time and BeforeDelete is set.
type Target struct {
	Revision     int64
	Time         time.Time
	Exclusive    bool   // what came at just that time, or revision, is left out
	BeforeDelete string // the key whose newest deletion, and what came later, is left out
}

// Base is a full backup that a restore may begin with.
type Base struct {
	Path      string
	Revision  int64
	ClusterID uint64
	Finished  time.Time // everything in it was written before
}

// Point is where a target is.
type Point struct {
	Base     Base
	Lineage  string    // of the log that leads on from the backup; empty: the backup itself is the target
	Revision int64     // that is restored
	At       time.Time // when its change came; zero: it is that of the backup
	Size     int64     // bytes of changes that are replayed
	Next     Moment    // the first change that is left out; its Revision is 0 if the log ends before it
}

// Moment is a revision, and when it came.
type Moment struct {
	Revision int64
	Time     time.Time
}

func (m Moment) String() string {
	if m.Time.IsZero() {
		return fmt.Sprintf("revision %d", m.Revision)
	}
	return fmt.Sprintf("revision %d of %s", m.Revision, clock(m.Time))
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Error is why a target cannot be restored. Its cause is a *log.Error, or one of what reads the store.
type Error struct {
	cause         error
	Before, After *Moment // the nearest ones that can be restored; nil: there is none, or none is known
}

func (e *Error) Unwrap() error { return e.cause }

func (e *Error) Error() string {
	text := e.cause.Error()
	if e.Before != nil {
		text += "; the nearest before that can be restored is " + e.Before.String()
	}
	if e.After != nil {
		text += "; the nearest after it is " + e.After.String()
	}
	return text
}

// refused is an error of a kind of the log.
func refused(kind log.Kind, format string, arguments ...any) *Error {
	return &Error{cause: &log.Error{Kind: kind, Problem: fmt.Sprintf(format, arguments...)}}
}

// within is the target without what is exclusive. Times of a log are whole microseconds.
func (t Target) within() Target {
	if t.Exclusive && t.Revision > 0 {
		t.Revision--
	}
	if t.Exclusive && !t.Time.IsZero() {
		t.Time = t.Time.Add(-time.Microsecond)
	}
	t.Exclusive = false
	return t
}

// includes says whether a full backup has nothing that came after the target, as far as its own facts say.
func (t Target) includes(b Base) bool {
	if t.Time.IsZero() {
		return b.Revision <= t.Revision
	}
	return b.Finished.Before(t.Time)
}

func (t Target) String() string { return log.Target{Revision: t.Revision, Time: t.Time}.String() }

// newestFirst are full backups in the order in which they were made, the newest first.
func newestFirst(bases []Base) []Base {
	return slices.SortedFunc(slices.Values(bases), func(a, b Base) int { return b.Finished.Compare(a.Finished) })
}
