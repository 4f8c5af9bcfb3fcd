// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package boltstream_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive/boltstream"
)

// answers are what bbolt's own reader finds.
type answers struct {
	revision, compacted int64
	index               uint64
	storage, cluster    string
}

func answersOf(f boltstream.Facts) answers {
	return answers{f.Revision, f.CompactRevision, f.ConsistentIndex, f.StorageVersion, f.ClusterVersion}
}

func asked(t testing.TB, path string) answers {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var found answers
	err = db.View(func(tx *bolt.Tx) error {
		found = answersIn(tx)
		return nil
	})
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return found
}

func answersIn(tx *bolt.Tx) answers {
	a := answers{revision: 1}
	if last, _ := tx.Bucket([]byte("key")).Cursor().Last(); last != nil {
		a.revision = max(1, int64(binary.BigEndian.Uint64(last)))
	}
	for _, name := range []string{"scheduledCompactRev", "finishedCompactRev"} {
		if value := tx.Bucket([]byte("meta")).Get([]byte(name)); value != nil {
			a.compacted = max(a.compacted, int64(binary.BigEndian.Uint64(value)))
		}
	}
	a.revision = max(a.revision, a.compacted)
	if index := tx.Bucket([]byte("meta")).Get([]byte("consistent_index")); index != nil {
		a.index = binary.BigEndian.Uint64(index)
	}
	a.storage = string(tx.Bucket([]byte("meta")).Get([]byte("storageVersion")))
	a.cluster = string(tx.Bucket([]byte("cluster")).Get([]byte("clusterVersion")))
	return a
}

// writer writes as etcd does: revisions that rise, meta data in each transaction.
type writer struct {
	t        testing.TB
	db       *bolt.DB
	revision int64
}

func open(t testing.TB, path string, pageSize int) *writer {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		PageSize: pageSize, NoSync: true, NoFreelistSync: pageSize != 1<<14,
		InitialMmapSize: 1 << 28, // a transaction that must grow the map waits for those that read
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{t: t, db: db, revision: 1}
	w.update(func(tx *bolt.Tx) {
		for _, name := range []string{
			"alarm", "auth", "authRoles", "authUsers", "cluster", "key", "lease", "members", "members_removed", "meta",
		} {
			_ = must(tx.CreateBucketIfNotExists([]byte(name)))(t)
		}
	})
	return w
}

func randomDatabase(t testing.TB, random *rand.Rand) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	w := open(t, path, 1<<(12+random.IntN(5)))
	w.commits(random, random.IntN(60))
	if err := w.db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func (w *writer) update(change func(*bolt.Tx)) {
	w.t.Helper()
	err := w.db.Update(func(tx *bolt.Tx) error {
		change(tx)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) transactions() (id int) {
	w.update(func(tx *bolt.Tx) { id = tx.ID() })
	return id
}

func (w *writer) commits(random *rand.Rand, number int) {
	w.t.Helper()
	for range number {
		switch random.IntN(8) {
		case 0:
			w.update(func(tx *bolt.Tx) { w.compact(tx, random) })
		case 1:
			w.update(func(tx *bolt.Tx) { w.others(tx, random) })
		default:
			w.update(func(tx *bolt.Tx) { w.write(tx, random) })
		}
	}
}

func (w *writer) write(tx *bolt.Tx, random *rand.Rand) {
	keys, count := tx.Bucket([]byte("key")), 1+random.IntN(1<<random.IntN(11))
	for range count {
		w.revision++
		for sub := range 1 + random.IntN(3) {
			value := make([]byte, random.IntN(1<<random.IntN(10)))
			if random.IntN(200) == 0 || random.IntN(count) == 0 && random.IntN(4) == 0 {
				value = make([]byte, random.IntN(3<<18))
			}
			imitate(value, random)
			w.put(keys, key(w.revision, int64(sub), random.IntN(5) == 0), value)
		}
	}
	w.index(tx)
}

// imitate fills a value with what looks like pages and keys.
func imitate(value []byte, random *rand.Rand) {
	for at := 0; at+64 < len(value); at += 4096 {
		leaf(value[at:], 0)
		binary.LittleEndian.PutUint64(value[at:], random.Uint64N(1<<12))
		binary.LittleEndian.PutUint16(value[at+8:], uint16(random.UintN(5)))
		binary.LittleEndian.PutUint16(value[at+10:], uint16(random.UintN(300)))
		binary.LittleEndian.PutUint32(value[at+12:], random.Uint32N(20))
	}
}

// compact deletes most of the oldest keys, so that their pages are free and keep what was in them.
func (w *writer) compact(tx *bolt.Tx, random *rand.Rand) {
	keys, meta := tx.Bucket([]byte("key")), tx.Bucket([]byte("meta"))
	at := 1 + random.Int64N(w.revision)
	if random.IntN(4) == 0 {
		at = w.revision // not even the newest key need be left
	}
	w.put(meta, []byte("scheduledCompactRev"), key(at, 0, false))
	var gone [][]byte
	cursor := keys.Cursor()
	for k, _ := cursor.First(); k != nil && int64(binary.BigEndian.Uint64(k)) <= at; k, _ = cursor.Next() {
		if random.IntN(10) > 0 || at == w.revision {
			gone = append(gone, append([]byte(nil), k...))
		}
	}
	for _, k := range gone {
		if err := keys.Delete(k); err != nil {
			w.t.Fatal(err)
		}
	}
	if random.IntN(3) > 0 {
		w.put(meta, []byte("finishedCompactRev"), key(at, 0, false))
	}
	w.index(tx)
}

// others fills the small buckets, so that the root has more than a page.
func (w *writer) others(tx *bolt.Tx, random *rand.Rand) {
	size := tx.DB().Info().PageSize / 5
	for _, name := range []string{"alarm", "auth", "authRoles", "authUsers", "lease", "members", "members_removed"} {
		if random.IntN(2) == 0 {
			w.put(tx.Bucket([]byte(name)), []byte("entry"), make([]byte, random.IntN(size)))
		}
	}
	w.put(tx.Bucket([]byte("cluster")), []byte("clusterVersion"), []byte("3.6.0"))
	w.put(tx.Bucket([]byte("meta")), []byte("confState"), make([]byte, random.IntN(size/2)))
	w.put(tx.Bucket([]byte("meta")), []byte("storageVersion"), []byte("3.6.0"))
}

func (w *writer) index(tx *bolt.Tx) {
	w.put(tx.Bucket([]byte("meta")), []byte("consistent_index"), binary.BigEndian.AppendUint64(nil, uint64(tx.ID())))
}

func (w *writer) put(bucket *bolt.Bucket, k, v []byte) {
	if err := bucket.Put(k, v); err != nil {
		w.t.Fatal(err)
	}
}

func key(main, sub int64, tombstone bool) []byte {
	k := append(binary.BigEndian.AppendUint64(nil, uint64(main)), '_')
	k = binary.BigEndian.AppendUint64(k, uint64(sub))
	if tombstone {
		k = append(k, 't')
	}
	return k
}
