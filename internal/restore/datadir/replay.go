// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/protobuf/encoding/protowire"
)

// Event is one change of one key, as etcd notes it.
type Event struct {
	Revision, Sub int64
	Deleted       bool
	Key, Value    []byte

	// Of a put only: the revision at which the key was created, how often it was put since, and its lease; 0: none.
	CreateRevision, Version, Lease int64
}

// Replayed is what Replay has done.
type Replayed struct {
	Revision int64 // that the database has now
	Events   int64
}

const (
	// replayEvents and replayBytes end a transaction of bbolt: what it changes is in memory until then. BenchmarkReplay is not faster
	// with more at once.
	replayEvents = 20_000
	replayBytes  = 8 << 20
	// replayFill is how full pages become. Revisions only grow, so that nothing is put between what is there; etcd fills them as much.
	replayFill = 0.9
)

// Replay writes events into a database, which must be a copy that is the caller's own: as etcd has written them, byte for byte, so that
// HashKV is that of the database that they come from. They must be whole revisions in the order of the history, the first of them right
// after the revision of the database; else it is a *SequenceError. No etcd runs: no lease ends meanwhile, and no revision is taken by
// anything else.
//
// After an error, and after a crash, the database is of no use. Nothing is synced: with all other files it is before the data directory
// gets its name. A transaction holds replayBytes at most, beside one event.
//
// Leases are those of the database: see DetachUnknownLeases.
func Replay(ctx context.Context, path string, events iter.Seq2[Event, error]) (Replayed, error) {
	if err := sayNothingIsFree(path); err != nil {
		return Replayed{}, err
	}
	db, err := openForWriting(path)
	if err != nil {
		return Replayed{}, err
	}
	r := replay{ctx: ctx, db: db}
	err = r.all(events)
	if err := errors.Join(err, r.end(), db.Close()); err != nil {
		return Replayed{}, fmt.Errorf("replay log: %w", err)
	}
	return Replayed{Revision: r.last.revision, Events: r.events}, nil
}

type replay struct {
	ctx    context.Context
	db     *bolt.DB
	tx     *bolt.Tx // nil: none
	keys   *bolt.Bucket
	last   place
	events int64

	inTx, bytesInTx int
	buffer          []byte
}

// place is that of an event.
type place struct{ revision, sub int64 }

func (r *replay) all(events iter.Seq2[Event, error]) error {
	if err := r.begin(); err != nil {
		return err
	}
	found, err := readRevisions(r.tx)
	if err != nil {
		return err
	}
	r.last = place{found.highest, -1} // nothing more of that revision
	for e, err := range events {
		if err == nil {
			err = r.put(e)
		}
		if err != nil {
			return err
		}
	}
	return r.commit()
}

func (r *replay) begin() (err error) {
	if r.tx, err = r.db.Begin(true); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	r.inTx, r.bytesInTx = 0, 0
	if r.keys = r.tx.Bucket(bucketKey); r.keys == nil {
		return &DamagedError{Why: "it has no bucket key"}
	}
	r.keys.FillPercent = replayFill
	return nil
}

func (r *replay) commit() error {
	tx := r.tx
	r.tx = nil
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// end gives up a transaction that was not committed.
func (r *replay) end() error {
	if r.tx == nil {
		return nil
	}
	return r.tx.Rollback()
}

func (r *replay) put(e Event) error {
	at := place{e.Revision, e.Sub}
	if at != (place{r.last.revision + 1, 0}) && (r.last.sub < 0 || at != place{r.last.revision, r.last.sub + 1}) {
		return &SequenceError{After: r.last.revision, AfterSub: r.last.sub, Revision: e.Revision, Sub: e.Sub}
	}
	if r.inTx >= replayEvents || r.bytesInTx >= replayBytes {
		if err := errors.Join(r.ctx.Err(), r.commit(), r.begin()); err != nil {
			return err
		}
	}
	// bbolt keeps the value until the end of the transaction, and copies the name.
	value := e.append(make([]byte, 0, e.size()))
	r.buffer = e.appendName(r.buffer[:0])
	if err := r.keys.Put(r.buffer, value); err != nil {
		return fmt.Errorf("put revision %d: %w", e.Revision, err)
	}
	r.last = at
	r.events++
	r.inTx++
	r.bytesInTx += len(r.buffer) + len(value)
	return nil
}

// appendName is the name of an entry of bucket key.
func (e Event) appendName(to []byte) []byte {
	to = binary.BigEndian.AppendUint64(to, uint64(e.Revision)) //nolint:gosec // revisions are positive
	to = append(to, '_')
	to = binary.BigEndian.AppendUint64(to, uint64(e.Sub)) //nolint:gosec // it is not negative
	if e.Deleted {
		to = append(to, 't')
	}
	return to
}

// Numbers of fields in mvccpb.KeyValue. Since all etcd writes a KeyValue in their order, and no zeros, the hash of these bytes is the same
// in each program that writes them; a test compares them with those of etcd's library.
const (
	fieldKey = iota + 1
	fieldCreateRevision
	fieldModRevision
	fieldVersion
	fieldValue
	fieldLease
)

// append is the mvccpb.KeyValue of the entry. That of a deletion has nothing but its key.
func (e Event) append(to []byte) []byte {
	to = appendField(to, fieldKey, e.Key)
	if e.Deleted {
		return to
	}
	to = appendNumber(to, fieldCreateRevision, e.CreateRevision)
	to = appendNumber(to, fieldModRevision, e.Revision)
	to = appendNumber(to, fieldVersion, e.Version)
	to = appendField(to, fieldValue, e.Value)
	return appendNumber(to, fieldLease, e.Lease)
}

// size is the most bytes that append adds.
func (e Event) size() int { return len(e.Key) + len(e.Value) + 6*(1+binary.MaxVarintLen64) }

func appendField(to []byte, field protowire.Number, content []byte) []byte {
	if len(content) == 0 {
		return to
	}
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), content)
}

func appendNumber(to []byte, field protowire.Number, n int64) []byte {
	if n == 0 {
		return to
	}
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), uint64(n)) //nolint:gosec // as protobuf has it
}

// SequenceError means that an event does not follow the one before, or the database.
type SequenceError struct {
	After, AfterSub int64 // the place before; AfterSub is -1 for a revision of which the database has everything
	Revision, Sub   int64
}

func (e *SequenceError) Error() string {
	return fmt.Sprintf("revision %d.%d does not follow revision %d.%d", e.Revision, e.Sub, e.After, e.AfterSub)
}
