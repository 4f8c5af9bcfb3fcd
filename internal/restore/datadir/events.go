// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"context"
	"errors"
	"fmt"
	"iter"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/protobuf/encoding/protowire"
)

// Events are the entries of a database, the oldest first: those that a compaction has left, and all later ones. Keys and values are good
// until the next event. The database is read, and needs the memory that Inspect does. A damaged database is a *DamagedError.
func Events(ctx context.Context, path string, progress func(Progress)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := view(ctx, path, func(tx *bolt.Tx) error {
			if _, err := readRevisions(tx); err != nil {
				return err
			}
			size := tx.Size()
			read := func(bytes int64) { progress(Progress{Read: bytes, Size: size}) }
			entries := scan{ctx: ctx, bucket: tx.Bucket(bucketKey), read: read}
			return entries.forward(func(e entry) error { return e.give(yield) })
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Event{}, fmt.Errorf("read database: %w", err))
		}
	}
}

// give returns an entry as an event; errEnough if no more are wanted.
func (e entry) give(yield func(Event, error) bool) error {
	if e.raisesRevision() {
		return nil
	}
	event, err := e.event()
	if err == nil && !yield(event, nil) {
		return errEnough
	}
	return err
}

// errEnough ends a scan.
var errEnough = errors.New("no more events are wanted")

// event has all fields of an entry.
func (e entry) event() (Event, error) {
	event := Event{Revision: e.main, Sub: subRevision(e.name), Deleted: e.tombstone, Key: e.key, Version: e.version}
	for rest := e.value; len(rest) > 0; {
		field, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return Event{}, notKeyValue(e.name)
		}
		content := rest[n:]
		if n = protowire.ConsumeFieldValue(field, kind, content); n < 0 {
			return Event{}, notKeyValue(e.name)
		}
		event.take(field, kind, content)
		rest = content[n:]
	}
	return event, nil
}

// take takes a field that ConsumeFieldValue has found sound.
func (e *Event) take(field protowire.Number, kind protowire.Type, content []byte) {
	switch {
	case field == fieldValue && kind == protowire.BytesType:
		e.Value, _ = protowire.ConsumeBytes(content)
	case kind != protowire.VarintType:
	case field == fieldCreateRevision:
		e.CreateRevision = varint(content)
	case field == fieldLease:
		e.Lease = varint(content)
	}
}

func varint(content []byte) int64 {
	n, _ := protowire.ConsumeVarint(content)
	return int64(n) //nolint:gosec // as protobuf has it
}
