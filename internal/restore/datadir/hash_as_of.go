// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"context"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// HashAsOf is the sum of all keys of a database at its newest revision, as a member answers it that has compacted its history up to a
// revision: one who wrote down the hash while the log went on had compacted further than the full backup that the log was replayed onto.
// -1 or 0: only the database's own compaction counts, as it does if that is later, which CompactRevision of the answer shows. The database
// is read, and needs the memory that Inspect does.
func HashAsOf(ctx context.Context, path string, compacted int64) (HashKV, error) {
	var found HashKV
	err := view(ctx, path, func(tx *bolt.Tx) error {
		r, err := readRevisions(tx)
		if err != nil {
			return err
		}
		if compacted > r.compacted() {
			if compacted > r.highest {
				return fmt.Errorf("revision %d, the newest, cannot be compacted up to %d", r.highest, compacted)
			}
			r.scheduled = compacted
		}
		keys := keyspace{scan: scan{ctx: ctx, bucket: tx.Bucket(bucketKey), read: func(int64) {}}, revisions: r, limit: keysInMemory}
		found, _, err = keys.sum()
		return err
	})
	if err != nil {
		return HashKV{}, fmt.Errorf("hash database: %w", err)
	}
	return found, nil
}
