// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package log is the format of the continuous log: every change of all keys after a full backup, as segments that are
// never overwritten (docs/adr/0064-the-log-is-a-chain-of-segments.md).
//
//	events → batches with a time → segment: a header in one line of JSON, then the batches, compressed by zstd
//
// A segment is named by its lineage and by the place of its first event. It is written only if there is no object of that
// name, so that of two writers one loses, whatever their clocks say. Its header names the sha256 of the header before, and
// the place of its last event: that nothing is missing, doubled or from elsewhere is proven by counting.
//
// The package is pure. It must never return an event of a segment that is not, byte for byte, what was written, and never
// take two segments for neighbours between which an event may be missing.
package log

import (
	"cmp"
	"time"
)

// Format is the version of segments that this package writes, and the only one that it reads.
const Format = 1

// DefaultSize is how many bytes of events a segment has before it is closed, if nothing closes it earlier.
const DefaultSize = 8 << 20

// MaxSize is the most bytes of events that a segment may have, before compression. What zstd cannot compress grows by less than a
// thousandth, so that a segment stays below the 16 MiB that a store takes in one request. etcd takes requests of 1.5 MiB unless
// --max-request-bytes says otherwise; a larger event than MaxSize cannot be logged.
const MaxSize = 15 << 20

// Position is the place of an event in the history of a cluster. Positions have an order, and each has one that follows.
type Position struct {
	Revision int64 `json:"revision"` // etcd's main revision: that of a transaction
	Sub      int64 `json:"sub"`      // place within the transaction, from 0
}

// Compare orders positions as the history does, as cmp.Compare does.
func (p Position) Compare(other Position) int {
	return cmp.Or(cmp.Compare(p.Revision, other.Revision), cmp.Compare(p.Sub, other.Sub))
}

// after is the place that follows: in the next revision if this one is complete, else in the same one.
func (p Position) after(complete bool) Position {
	if complete {
		return Position{p.Revision + 1, 0}
	}
	return Position{p.Revision, p.Sub + 1}
}

// Event is one change of one key, with all that etcd keeps of it.
type Event struct {
	Revision, Sub int64
	Deleted       bool
	Key, Value    []byte // no value if it was deleted

	// Of a put only: the revision at which the key was created, how often it was put since, from 1, and the lease; 0: none.
	CreateRevision, Version, Lease int64
}

// Position is the place of the event.
func (e Event) Position() Position { return Position{e.Revision, e.Sub} }

// Batch is events that a member has sent at once.
type Batch struct {
	// Time is when they came, by the clock of the writer, in whole microseconds. etcd itself has no times. It is never earlier than that of
	// the batch before.
	Time   time.Time
	Events []Event
	// Complete says that the last event is the last one of its revision. A revision with very many events may be spread over batches and
	// segments, and is restored as a whole or not at all.
	Complete bool
}

// HashKV is etcd's hash of all keys at a revision, as a member has answered. It depends on the revision up to which that member
// had compacted its history; -1 or 0: nothing was.
type HashKV struct {
	Hash            uint32 `json:"hash"`
	Revision        int64  `json:"revision"`
	CompactRevision int64  `json:"compactRevision"`
}
