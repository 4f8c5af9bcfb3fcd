// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/protobuf/encoding/protowire"
)

// entry is one change of one key, as bucket key has it. It is good until the next one is read.
type entry struct {
	name, value []byte
	main        int64
	tombstone   bool
	key         []byte
	version     int64 // 1 if the key was created
}

// readEntry takes the fields that are needed out of a mvccpb.KeyValue, without a copy of its value.
func readEntry(name, value []byte) (entry, error) {
	main, err := mainRevision(name)
	if err != nil {
		return entry{}, err
	}
	e := entry{name: name, value: value, main: main, tombstone: len(name) == tombstoneSize}
	const key, version = 1, 4 // numbers of fields in mvccpb.KeyValue
	for rest := value; len(rest) > 0; {
		field, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return entry{}, notKeyValue(name)
		}
		rest = rest[n:]
		switch {
		case field == key && kind == protowire.BytesType:
			e.key, n = protowire.ConsumeBytes(rest)
		case field == version && kind == protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(rest)
			e.version = int64(v) //nolint:gosec // it is only compared with 1
		default:
			n = protowire.ConsumeFieldValue(field, kind, rest)
		}
		if n < 0 {
			return entry{}, notKeyValue(name)
		}
		rest = rest[n:]
	}
	return e, nil
}

func notKeyValue(name []byte) error {
	return &DamagedError{Why: fmt.Sprintf("revision %x holds no key and value", name)}
}

// scan reads bucket key, as often as it is asked to.
type scan struct {
	ctx    context.Context
	bucket *bolt.Bucket
	read   func(bytes int64) // of the entries that were read so far in this pass
}

// forward visits entries, oldest first.
func (s *scan) forward(visit func(entry) error) error {
	cursor := s.bucket.Cursor()
	return s.each(cursor.First, cursor.Next, visit)
}

// backward visits entries up to a main revision, newest first.
func (s *scan) backward(newest int64, visit func(entry) error) error {
	cursor := s.bucket.Cursor()
	start := func() ([]byte, []byte) {
		after := revisionName(newest + 1)
		if name, _ := cursor.Seek(after); name == nil {
			return cursor.Last()
		}
		return cursor.Prev()
	}
	return s.each(start, cursor.Prev, visit)
}

func (s *scan) each(first, next func() ([]byte, []byte), visit func(entry) error) error {
	const often = 1 << 12 // entries between two looks at the context
	var total int64
	n := 0
	for name, value := first(); name != nil; name, value = next() {
		if n++; n%often == 0 {
			if err := s.ctx.Err(); err != nil {
				return fmt.Errorf("read keys: %w", err)
			}
			s.read(total)
		}
		e, err := readEntry(name, value)
		if err != nil {
			return err
		}
		if err := visit(e); err != nil {
			return err
		}
		total += int64(len(name) + len(value))
	}
	s.read(total)
	return nil
}

// raisesRevision says whether etcdutl or Make wrote the entry to bump the revision: no client can
// write an empty key.
func (e entry) raisesRevision() bool { return len(e.key) == 0 }
