// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import "fmt"

// Kind is what is wrong with a log, or why it cannot be restored to a target. errors.Is(err, log.Missing) asks for it.
type Kind string

// Every kind.
const (
	Missing   Kind = "missing"   // events between two segments are not there
	Overlap   Kind = "overlap"   // two segments have the same events
	Reordered Kind = "reordered" // segments are not in the order of their events, or of their times
	Foreign   Kind = "foreign"   // a segment is of another lineage, or of another place
	Forked    Kind = "forked"    // a segment follows another one than the one that is there
	Damaged   Kind = "damaged"   // a segment is not what was written
	Newer     Kind = "newer"     // a newer operator wrote it

	TooLarge Kind = "too large" // an event is larger than a segment may be
	Disorder Kind = "disorder"  // events to be written do not follow each other

	TooEarly Kind = "too early" // no full backup is old enough for the target
	TooLate  Kind = "too late"  // the log ends before the target
	InGap    Kind = "in a gap"  // the target is where nothing was logged
	Unclear  Kind = "unclear"   // the target is none
	NotFound Kind = "not found" // the log does not have what is looked for
)

// Error makes a kind something to compare with; it is never returned alone.
func (k Kind) Error() string { return string(k) }

// Error is what is wrong, and where.
type Error struct {
	Kind    Kind
	Object  string // whole name of the segment; empty if it is about no single one
	Problem string // what is true, in words
	// From and To are, if Missing, the first event that is not there and the first one that is there again; of Forked, Overlap and
	// Disorder, the place that was expected and the one that was found; of TooLate, From is the end of the log.
	From, To Position
}

func (e *Error) Error() string {
	if e.Object == "" {
		return e.Problem
	}
	return e.Object + ": " + e.Problem
}

// Is compares with a Kind.
func (e *Error) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}

func wrong(kind Kind, object, format string, arguments ...any) *Error {
	return &Error{Kind: kind, Object: object, Problem: fmt.Sprintf(format, arguments...)}
}

// between is an error about two places.
func (e *Error) between(from, to Position) *Error {
	e.From, e.To = from, to
	return e
}

// String is the place for people: the revision, with the place in its transaction.
func (p Position) String() string { return fmt.Sprintf("revision %d.%d", p.Revision, p.Sub) }
