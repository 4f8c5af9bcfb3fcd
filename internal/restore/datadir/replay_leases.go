// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/protobuf/encoding/protowire"
)

// DetachUnknownLeases takes the lease from every entry after a revision whose lease is not in the database. A log has no grants of leases:
// one that was granted after the full backup is not known. etcd would keep its ID on the key without ever ending it; and if the ID is
// granted again, members that restart would bind the key to it, and the others would not. It returns how many entries it has changed.
//
// It comes after HashKV was compared: the hash is of entries with their leases.
func DetachUnknownLeases(ctx context.Context, path string, after int64) (int64, error) {
	if err := sayNothingIsFree(path); err != nil {
		return 0, err
	}
	db, err := openForWriting(path)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	from := revisionName(after + 1)
	for err == nil && from != nil {
		err = db.Update(func(tx *bolt.Tx) error {
			changed, next, err := detachSome(ctx, tx, from)
			total, from = total+changed, next
			return err
		})
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return 0, fmt.Errorf("detach unknown leases: %w", err)
	}
	return total, nil
}

// detachSome changes what fits into a transaction. It returns the entry to go on with; nil: all is done.
func detachSome(ctx context.Context, tx *bolt.Tx, from []byte) (changed int64, next []byte, err error) {
	keys, leases := tx.Bucket(bucketKey), tx.Bucket(bucketLease)
	if keys == nil {
		return 0, nil, &DamagedError{Why: "it has no bucket key"}
	}
	type entry struct{ name, value []byte }
	var found []entry
	size := 0
	cursor := keys.Cursor()
	name, value := cursor.Seek(from)
	for n := 1; name != nil && size < replayBytes && len(found) < replayEvents; name, value = cursor.Next() {
		if n++; n%(1<<12) == 0 && ctx.Err() != nil {
			return 0, nil, ctx.Err()
		}
		start, lease, err := leaseOf(name, value)
		if err != nil {
			return 0, nil, err
		}
		if lease != 0 && !isGranted(leases, lease) {
			found = append(found, entry{bytes.Clone(name), bytes.Clone(value[:start])})
			size += len(name) + start
		}
	}
	next = bytes.Clone(name) // before anything is put, which moves pages
	keys.FillPercent = replayFill
	for _, e := range found {
		if err := keys.Put(e.name, e.value); err != nil {
			return 0, nil, fmt.Errorf("put entry: %w", err)
		}
	}
	return int64(len(found)), next, nil
}

// leaseOf is the lease of an entry, the last field of it, and where that begins; 0: it has none.
func leaseOf(name, value []byte) (start int, lease int64, err error) {
	for rest := value; len(rest) > 0; {
		field, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return 0, 0, notKeyValue(name)
		}
		if field == fieldLease && kind == protowire.VarintType {
			id, m := protowire.ConsumeVarint(rest[n:])
			if m < 0 || n+m != len(rest) {
				return 0, 0, notKeyValue(name)
			}
			return len(value) - len(rest), int64(id), nil //nolint:gosec // as protobuf has it
		}
		m := protowire.ConsumeFieldValue(field, kind, rest[n:])
		if m < 0 {
			return 0, 0, notKeyValue(name)
		}
		rest = rest[n+m:]
	}
	return 0, 0, nil
}

// isGranted says whether the database has the lease: named by its ID, in eight bytes.
func isGranted(leases *bolt.Bucket, id int64) bool {
	return leases != nil && leases.Get(binary.BigEndian.AppendUint64(nil, uint64(id))) != nil //nolint:gosec // as etcd has it
}
