// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"
	bolt "go.etcd.io/bbolt"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// makeDatabase makes one of etcd's, with values that cannot be compressed, and its revision.
func makeDatabase(t testing.TB, seed uint64, keys int) (content []byte, revision int64) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	return makeDatabaseOf(t, keys, func() []byte {
		value := make([]byte, 900)
		_, _ = random.Read(value) // it never fails
		return value
	})
}

func makeDatabaseOf(t testing.TB, keys int, value func() []byte) (content []byte, revision int64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db := must(bolt.Open(path, 0o600, &bolt.Options{PageSize: 4096, NoSync: true}))(t)
	err := db.Update(func(tx *bolt.Tx) error {
		for _, name := range []string{"cluster", "key", "lease", "members", "meta"} {
			_ = must(tx.CreateBucket([]byte(name)))(t)
		}
		for n := range keys {
			revision = int64(n) + 2
			k := append(binary.BigEndian.AppendUint64(nil, uint64(revision)), "_\x00\x00\x00\x00\x00\x00\x00\x00"...)
			if err := tx.Bucket([]byte("key")).Put(k, value()); err != nil {
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
	return file.Bytes(), revision
}

// snapshotOf is what etcd sends of a database.
func snapshotOf(database []byte) []byte {
	sum := sha256.Sum256(database)
	return append(bytes.Clone(database), sum[:]...)
}

// folder is that of a backup of the cluster "orders".
func folder(id string) archive.Folder {
	return archive.Folder{Namespace: "shop", Cluster: "orders", ID: id}
}

func job(id string, partSize int, recipients ...string) archive.Job {
	return archive.Job{
		Manifest: archive.Manifest{
			ID: id, Name: "nightly-1", Namespace: "shop",
			Cluster: archive.Cluster{Name: "orders", UID: "0b2f", ClusterID: "cdf818194e3a8c32"},
			Etcd:    archive.Etcd{Version: "3.6.16"}, StartedAt: today, OperatorVersion: "0.5.0", Reason: "schedule",
			Members: []archive.Member{{Name: "orders-1", ID: "8e9e05c52164694d"}},
			Spec:    []byte(`{"size":3,"note":"a<b"}`),
		},
		Recipients: recipients, PartSize: partSize, Now: func() time.Time { return today.Add(time.Minute) },
	}
}

// backup writes a database as a backup.
func backup(t testing.TB, store archive.Store, id string, database []byte, partSize int, recipients ...string) archive.Manifest {
	t.Helper()
	return must(archive.Write(t.Context(), store, bytes.NewReader(snapshotOf(database)), job(id, partSize, recipients...)))(t)
}

// restore reads a backup as a restore does: by its manifest, to the end.
func restore(ctx context.Context, store archive.Store, f archive.Folder, identities []byte) ([]byte, error) {
	m, err := archive.ReadManifest(ctx, store, f)
	if err != nil {
		return nil, err
	}
	reader, err := archive.Open(ctx, store, m, identities, nil)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(reader)
	return content, errors.Join(err, reader.Close())
}

// newKey is a key of age: a reader with the identity can read what is encrypted to the recipient.
func newKey(t testing.TB) (recipient string, identity []byte) {
	t.Helper()
	key := must(age.GenerateX25519Identity())(t)
	return key.Recipient().String(), []byte("# created: today\n" + key.String() + "\n")
}

func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
