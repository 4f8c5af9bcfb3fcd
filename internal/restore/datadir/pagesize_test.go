// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive/boltstream"
)

// TestBothReadersKnowTheSamePages: what can be backed up can be restored, and what is refused at one end is refused at the other.
func TestBothReadersKnowTheSamePages(t *testing.T) {
	for size := 1 << 10; size <= 1<<18; size *= 2 {
		db := ofPages(t, size)
		var parser boltstream.Parser
		_, _ = parser.Write(db) // never fails
		facts, unreadable := parser.Facts()
		isRead := unreadable == nil && facts.PageSize == size && boltstream.IsDatabase(db)

		o := options(t, db)
		unmade := Make(t.Context(), o, bytes.NewReader(db))
		if isMade := unmade == nil; isMade != isRead || isRead != (size <= boltstream.LargestPage) {
			t.Errorf("pages of %d bytes: the reader of snapshots says %v, and that of data directories %v", size, unreadable, unmade)
		}
		if unmade != nil && !errors.As(unmade, new(*DamagedError)) {
			t.Errorf("pages of %d bytes: %v", size, unmade)
		}
		if unmade == nil {
			if err := Check(t.Context(), databaseOf(o), func(fault error) { t.Error(fault) }); err != nil {
				t.Error(err)
			}
		}
	}
}

// ofPages is a database of etcd's with pages of that size, as a kernel with such pages makes it.
func ofPages(t *testing.T, size int) []byte {
	t.Helper()
	path := t.TempDir() + "/db"
	db := must(bolt.Open(path, 0o600, &bolt.Options{PageSize: size, NoFreelistSync: true}))(t)
	err := db.Update(func(tx *bolt.Tx) error {
		var err error
		for _, name := range [][]byte{
			bucketKey, bucketMeta, bucketCluster, bucketMembers, bucketMembersRemoved, bucketAlarm, bucketAuth, bucketLease,
		} {
			_, failed := tx.CreateBucket(name)
			err = errors.Join(err, failed)
		}
		for n := range 100 {
			err = errors.Join(err, tx.Bucket(bucketKey).Put(revisionName(int64(n+2)), fmt.Append(nil, "\n\x01a*\x01", n)))
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	content := must(os.ReadFile(path))(t)
	return content[:pagesIn(content, size)]
}

// pagesIn is what a snapshot has of a file, in bytes: the pages that were ever used.
func pagesIn(content []byte, size int) int {
	used := 0
	for _, at := range []int{0, size} {
		used = max(used, int(binary.NativeEndian.Uint64(content[at+56:]))*size) //nolint:gosec // it is small
	}
	return used
}
