// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
	"github.com/etcd-operator/etcd-operator/internal/backup/worker"
)

// BenchmarkRestoreGiB restores a database of 1 GiB from a volume, beside what a bare copy of it costs on the same disk: the time,
// and that of the processors.
func BenchmarkRestoreGiB(b *testing.B) {
	source := documents(b)
	folder := b.TempDir()
	m := archived(b, folder, source)
	for _, members := range []int{1, 3} {
		b.Run(fmt.Sprintf("copy-%d", members), func(b *testing.B) {
			each(b, members, func(int) {
				target := filepath.Join(b.TempDir(), "db")
				must(b, copySynced(source, target))
				must(b, os.Remove(target))
			})
		})
		for _, verified := range []bool{true, false} {
			b.Run(fmt.Sprintf("restore-%d-verified=%t", members, verified), func(b *testing.B) {
				each(b, members, func(i int) { restored(b, folder, m, fmt.Sprint("m", i), verified) })
			})
		}
	}
}

// each does it for all members at once, and reports the processors' time.
func each(b *testing.B, members int, do func(member int)) {
	b.Helper()
	before := processors(b)
	for b.Loop() {
		var all sync.WaitGroup
		for i := range members {
			all.Go(func() { do(i) })
		}
		all.Wait()
	}
	b.ReportMetric((processors(b)-before).Seconds()/float64(b.N), "cpu-s/op")
}

func processors(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func restored(b *testing.B, folder string, m archive.Manifest, member string, verified bool) {
	b.Helper()
	target := b.TempDir()
	order := jobspec.Order{Verb: jobspec.Restore, Restore: &jobspec.RestoreOrder{
		Path: m.Folder().String(), ManifestSHA256: m.SHA256, Verified: verified,
		DataDirectory: "data", Member: member, Token: "t", Minor: "3.7",
		InitialCluster: map[string]string{member: "http://127.0.0.1:2380"}, Bump: 1000,
	}}
	in := worker.Environment{Now: time.Now, Out: io.Discard, Folders: worker.Folders{Volume: folder, Member: target}}
	must(b, worker.Run(b.Context(), onVolume(order), in))
	must(b, os.RemoveAll(filepath.Join(target, "data")))
}

func archived(b *testing.B, folder, database string) archive.Manifest {
	b.Helper()
	s, err := objectstore.Open(b.Context(), objectstore.Config{Spec: volume, Mount: folder})
	must(b, err)
	defer s.Close() //nolint:errcheck // nothing is kept open
	content, err := os.ReadFile(database)
	must(b, err)
	snapshot := bytes.NewReader(snapshotOf(content))
	m, err := archive.Write(b.Context(), listing{s}, snapshot, archive.Job{Now: time.Now, Manifest: archive.Manifest{
		ID: "uid-1", Name: "nightly", Namespace: "default", Cluster: archive.Cluster{Name: "example", UID: "u", ClusterID: "c1"},
		Etcd: archive.Etcd{Version: "3.6.16"}, StartedAt: time.Now(), OperatorVersion: "0.5.0",
	}})
	must(b, err)
	return m
}

func copySynced(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // it is only read
	target, err := os.Create(to)
	if err != nil {
		return err
	}
	defer target.Close() //nolint:errcheck // it is synced
	if _, err := io.CopyBuffer(struct{ io.Writer }{target}, struct{ io.Reader }{source}, make([]byte, 1<<20)); err != nil {
		return err
	}
	return target.Sync()
}

// documents is a database of 1 GiB whose values are half random and half JSON that repeats itself, as those of a cluster are.
func documents(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "db")
	be := backend.NewDefaultBackend(zap.NewNop(), path, backend.WithMmapSize(1<<32))
	tx := be.BatchTx()
	tx.LockOutsideApply()
	for _, bucket := range schema.AllBuckets {
		tx.UnsafeCreateBucket(bucket)
	}
	tx.UnsafePut(schema.Cluster, []byte("clusterVersion"), []byte("3.6.0"))
	tx.Unlock()
	kv := mvcc.New(zap.NewNop(), be, &lease.FakeLessor{}, mvcc.StoreConfig{})
	random, secret := rand.NewChaCha8([32]byte{}), make([]byte, 3000)
	for n := range 105_000 {
		_, _ = random.Read(secret) // never fails
		data := base64.StdEncoding.EncodeToString(secret)
		value := fmt.Appendf(nil, `{"kind":"Secret","name":"secret-%d","data":%q,"managedFields":[`, n, data)
		for len(value) < 8000 {
			value = fmt.Appendf(value, `{"manager":"kubelet","operation":"Update","node":"node-%d","time":"2026-11-%02dT00:00:00Z"},`, n%97, n%28)
		}
		kv.Put(fmt.Appendf(nil, "/registry/secrets/default/secret-%d", n), value, lease.NoLease)
	}
	kv.Close()
	must(b, be.Close())
	return path
}
