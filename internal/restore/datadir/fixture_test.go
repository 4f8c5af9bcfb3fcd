// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/pkg/v3/traceutil"
	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"
)

// etcdStore is what etcd keeps its keys in, without the rest of etcd.
type etcdStore struct {
	mvcc.WatchableKV
	backend backend.Backend
}

func openStore(t testing.TB, path string) etcdStore {
	t.Helper()
	be := backend.NewDefaultBackend(zap.NewNop(), path, backend.WithMmapSize(1<<20))
	tx := be.BatchTx()
	tx.LockOutsideApply()
	for _, bucket := range schema.AllBuckets {
		tx.UnsafeCreateBucket(bucket)
	}
	tx.Unlock()
	return etcdStore{mvcc.New(zap.NewNop(), be, &lease.FakeLessor{}, mvcc.StoreConfig{}), be}
}

func (s etcdStore) put(key, value string) { s.Put([]byte(key), []byte(value), lease.NoLease) }
func (s etcdStore) remove(key string)     { s.DeleteRange([]byte(key), nil) }

// compactAt waits until the compaction is done.
func (s etcdStore) compactAt(t testing.TB, revision int64) {
	t.Helper()
	done, err := s.Compact(traceutil.TODO(), revision)
	if err != nil {
		t.Fatal(err)
	}
	<-done
}

func (s etcdStore) close() {
	s.WatchableKV.Close()
	_ = s.backend.Close() // what was not written is missing in the file, which tests see
}

// database is a file that etcd's own packages wrote.
func database(t testing.TB, write func(etcdStore)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	s := openStore(t, path)
	write(s)
	s.close()
	return path
}

// small is a database with a few keys.
func small(t testing.TB) []byte {
	t.Helper()
	return content(t, database(t, func(s etcdStore) {
		for _, key := range []string{"a", "b", "c"} {
			s.put(key, "1")
		}
	}))
}

func content(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// edit changes a file as no etcd would.
func edit(t testing.TB, path string, change func(*bolt.Tx) error) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(change); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// options are those of a cluster of one, made of that database.
func options(t testing.TB, database []byte) Options {
	t.Helper()
	return Options{
		Folder: t.TempDir(), Name: "data", Member: "m1",
		InitialCluster: map[string]string{"m1": "http://127.0.0.1:2380"}, Token: "restore-1", Minor: "3.7",
		Size: int64(len(database)), SHA256: sha256.Sum256(database),
	}
}

// makes makes a data directory, which must succeed.
func makes(t testing.TB, o Options, database []byte) {
	t.Helper()
	if err := Make(t.Context(), o, bytes.NewReader(database)); err != nil {
		t.Fatal(err)
	}
}

func inspects(t testing.TB, path string) Info {
	t.Helper()
	info, err := Inspect(t.Context(), path, func(Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// nothing must be left in a folder: no data directory, and no rest of one.
func nothing(t testing.TB, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		t.Errorf("%s was left", entry.Name())
	}
}

func databaseOf(o Options) string { return filepath.Join(o.Folder, o.Name, "member", "snap", "db") }
