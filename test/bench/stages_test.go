// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// snapshotOfDocuments is what etcd sends of a database with so many documents.
func snapshotOfDocuments(t *testing.T, count int) []byte {
	t.Helper()
	db, err := bolt.Open(filepath.Join(t.TempDir(), "db"), 0o600, &bolt.Options{PageSize: 4096, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{"cluster", "key", "lease", "members", "meta"} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		keys := tx.Bucket([]byte("key"))
		keys.FillPercent = 0.9 // as etcd has it
		for i := range count {
			revision := append(binary.BigEndian.AppendUint64(nil, uint64(i)+2), "_\x00\x00\x00\x00\x00\x00\x00\x00"...)
			// As long as etcd's message with the key, the value and three numbers.
			value := documentKey(i) + document(uint64(i)) + "twenty bytes or less"
			if err := keys.Put(revision, []byte(value)); err != nil {
				return err
			}
		}
		return tx.Bucket([]byte("meta")).Put([]byte("storageVersion"), []byte("3.6.0"))
	})
	var file bytes.Buffer
	err = errors.Join(err, db.View(func(tx *bolt.Tx) error {
		_, err := tx.WriteTo(&file)
		return err
	}), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(file.Bytes())
	return append(file.Bytes(), sum[:]...)
}

// TestADocumentTakesItsShare of the database, so that one of 1 GiB is one of 1 GiB.
func TestADocumentTakesItsShare(t *testing.T) {
	const count = 4000
	got := float64(len(snapshotOfDocuments(t, count))) / (count * documentShare)
	if got < 0.98 || got > 1.05 {
		t.Errorf("the database is %.2f times as large as it should be", got)
	}
}

func TestPackAloneReadsAWholeSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "snapshot")
	snapshot := snapshotOfDocuments(t, 100)
	m := archive.Manifest{
		ID: "one", Namespace: "bench-x", Cluster: archive.Cluster{Name: "c"}, StartedAt: time.Now(),
		Parts: []archive.Part{{Name: "of another backup"}}, StoredBytes: 1,
	}
	if err := os.WriteFile(path, snapshot, 0o600); err != nil {
		t.Fatal(err)
	}
	if took, err := packAlone(t.Context(), path, m); err != nil || took <= 0 {
		t.Errorf("took %s: %v", took, err)
	}
	if err := os.WriteFile(path, snapshot[:len(snapshot)-4096], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := packAlone(t.Context(), path, m); err == nil {
		t.Error("half a snapshot was packed")
	}
}
