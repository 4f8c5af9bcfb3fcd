// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// What etcd sends is what comes back, and its revisions are those that etcd has.
func TestBackupOfRealEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd: run it without -short")
	}
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cluster := process.Run(t, version, 1)
			client := must(clientv3.New(clientv3.Config{Endpoints: []string{"http://" + cluster.Member("m1").Client}}))(t)
			t.Cleanup(func() { _ = client.Close() }) // the member is killed anyway
			if version != "3.5.35" {
				cluster.Until("the storage version to be written", func(ctx context.Context) error {
					status, err := cluster.Client("m1").Status(ctx)
					if own := version[:len("3.6.")] + "0"; err == nil && status.StorageVersion != own {
						return fmt.Errorf("the data is of %q, not %q", status.StorageVersion, own)
					}
					return err
				})
			}
			compacted := int64(0)
			for _, history := range histories {
				t.Run(history.name, func(t *testing.T) {
					compacted = max(compacted, history.write(t, client))
					isBackedUp(t, cluster, client, compacted)
				})
			}
		})
	}
}

// histories follow each other in one cluster. Each says what it has compacted.
var histories = []struct {
	name  string
	write func(*testing.T, *clientv3.Client) int64
}{
	{"nothing written", func(*testing.T, *clientv3.Client) int64 { return 0 }},
	{"a few keys", func(t *testing.T, c *clientv3.Client) int64 { return put(t, c, 20, 100) }},
	{"many keys", func(t *testing.T, c *clientv3.Client) int64 { return put(t, c, 3000, 300) }},
	{"compacted", func(t *testing.T, c *clientv3.Client) int64 { return compact(t, c, 10) }},
	{"a tombstone is the newest", func(t *testing.T, c *clientv3.Client) int64 {
		_ = put(t, c, 500, 2000)
		_ = must(c.Delete(t.Context(), "/key/7", clientv3.WithPrefix()))(t)
		return 0
	}},
	{"a transaction of several keys is the newest", func(t *testing.T, c *clientv3.Client) int64 {
		var puts []clientv3.Op
		for n := range 100 {
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("/txn/%d", n), "value"))
		}
		_ = must(c.Txn(t.Context()).Then(puts...).Commit())(t)
		return 0
	}},
	{"large values", func(t *testing.T, c *clientv3.Client) int64 { return put(t, c, 6, 1_400_000) }},
	{"everything deleted and compacted", func(t *testing.T, c *clientv3.Client) int64 {
		_ = must(c.Delete(t.Context(), "", clientv3.WithFromKey()))(t)
		return compact(t, c, 0)
	}},
	{"written again", func(t *testing.T, c *clientv3.Client) int64 { return put(t, c, 700, 500) }},
}

func put(t *testing.T, client *clientv3.Client, keys, size int) int64 {
	t.Helper()
	for n := range keys {
		value := bytes.Repeat([]byte{byte(n)}, size)
		_ = must(client.Put(t.Context(), fmt.Sprintf("/key/%d", n), string(value)))(t)
	}
	return 0
}

// compact deletes the history but for so many revisions, and waits until that is done.
func compact(t *testing.T, client *clientv3.Client, keep int64) int64 {
	t.Helper()
	now := must(client.Get(t.Context(), "x"))(t).Header.Revision
	_ = must(client.Compact(t.Context(), now-keep, clientv3.WithCompactPhysical()))(t)
	return now - keep
}

// isBackedUp compares the backup with what etcd sent, and its revisions with what etcd says.
func isBackedUp(t *testing.T, cluster *process.Cluster, client *clientv3.Client, compacted int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	member := cluster.Client("m1")
	status := must(member.Status(ctx))(t)
	snapshot := must(member.Snapshot(ctx))(t)
	var sent bytes.Buffer
	store := newMemory()
	j := job("a1", 64<<10)
	j.Total = snapshot.Size
	m := must(archive.Write(ctx, store, io.TeeReader(snapshot, &sent), j))(t)
	if err := snapshot.Close(); err != nil {
		t.Error(err)
	}
	got := must(restore(ctx, store, folder("a1"), nil))(t)
	if want := sent.Bytes()[:sent.Len()-sha256.Size]; !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back of %d", len(got), len(want))
	}
	if m.Revision != status.Revision || m.CompactRevision != compacted {
		t.Errorf("revision %d compacted up to %d, and etcd says %d and %d", m.Revision, m.CompactRevision, status.Revision, compacted)
	}
	if m.Etcd.StorageVersion != status.StorageVersion || m.Etcd.StorageVersion != snapshot.StorageVersion {
		t.Errorf("storage version %q, and etcd says %q", m.Etcd.StorageVersion, status.StorageVersion)
	}
	count := must(client.Get(ctx, "", clientv3.WithFromKey(), clientv3.WithCountOnly(), clientv3.WithRev(m.Revision)))(t).Count
	t.Logf("%d bytes, revision %d, compacted %d, %d keys, %d parts of %d bytes", m.Database.Size, m.Revision, m.CompactRevision,
		count, len(m.Parts), m.StoredBytes)
}
