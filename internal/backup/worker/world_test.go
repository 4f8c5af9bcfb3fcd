// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/lease"
	"go.etcd.io/etcd/server/v3/storage/backend"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"
	"go.uber.org/zap"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
	"github.com/etcd-operator/etcd-operator/internal/backup/worker"
)

const path = "v1/default/example/uid-1"

// world is a store on a volume, and what else a Job's Pod has.
type world struct {
	*testing.T
	in worker.Environment
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t, worker.Environment{Now: time.Now, Getenv: func(string) string { return "" }, Folders: worker.Folders{
		Volume: t.TempDir(), Scratch: t.TempDir(), Member: t.TempDir(), Identities: t.TempDir(), Keys: t.TempDir(), CA: t.TempDir(),
		Client: t.TempDir(),
	}}}
}

// says are all lines of a Job but those of progress.
func (w *world) says(order jobspec.Order) []jobspec.Line {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
	defer cancel()
	return w.saysWithin(ctx, order)
}

func (w *world) saysWithin(ctx context.Context, order jobspec.Order) []jobspec.Line {
	w.Helper()
	var out bytes.Buffer
	in := w.in
	in.Out = &out
	exit := worker.Main(ctx, []string{onVolume(order).Encode()}, in)
	lines := w.read(&out)
	if len(lines) == 0 {
		w.Fatalf("%s said nothing", order.Verb)
	}
	for i, line := range lines {
		if isLast := i == len(lines)-1; isLast != (line.Done != nil || line.Failed != nil) {
			w.Fatalf("line %d of %d is %+v", i+1, len(lines), line)
		}
	}
	if isDone := lines[len(lines)-1].Done != nil; isDone != (exit == worker.ExitDone) {
		w.Fatalf("it ends with %d, and said %+v", exit, lines[len(lines)-1])
	}
	return lines
}

var volume = v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Path: "etcd"}}

func onVolume(order jobspec.Order) jobspec.Order {
	if order.Store.S3 != nil {
		return order
	}
	order.Store = volume
	return order
}

// read reads lines, which must be nothing else, without those of progress.
func (w *world) read(out *bytes.Buffer) []jobspec.Line {
	w.Helper()
	var lines []jobspec.Line
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		line, ok := jobspec.Parse(scanner.Bytes())
		if !ok {
			w.Fatalf("no line: %s", scanner.Text())
		}
		if line.Progress == nil {
			lines = append(lines, line)
		}
	}
	return lines
}

func (w *world) does(order jobspec.Order) jobspec.Done {
	w.Helper()
	lines := w.says(order)
	end := lines[len(lines)-1]
	if end.Done == nil {
		w.Fatalf("%s failed: %+v", order.Verb, end.Failed)
	}
	return *end.Done
}

func (w *world) fails(order jobspec.Order, reason jobspec.Reason, final bool, words string) {
	w.Helper()
	lines := w.says(order)
	failed := lines[len(lines)-1].Failed
	if failed == nil || failed.Reason != reason || failed.Final != final || !strings.Contains(failed.Message, words) {
		w.Errorf("%s: %+v; it should be %s, final %t, with %q", order.Verb, failed, reason, final, words)
	}
}

// file is one of the store.
func (w *world) file(name string) string { return filepath.Join(w.in.Folders.Volume, "etcd", name) }

// stored are the files of a backup.
func (w *world) stored(folder string) []string {
	w.Helper()
	files, err := filepath.Glob(filepath.Join(w.file(folder), "*"))
	must(w, err)
	return files
}

func (w *world) open() archive.Store {
	w.Helper()
	s, err := objectstore.Open(w.Context(), objectstore.Config{Spec: volume, Mount: w.in.Folders.Volume})
	must(w, err)
	w.Cleanup(func() { _ = s.Close() })
	return listing{s}
}

// backedUp writes a database as the backup with that ID, without an etcd.
func (w *world) backedUp(id string, database []byte, change func(*archive.Job)) archive.Manifest {
	w.Helper()
	job := archive.Job{Now: time.Now, PartSize: 16 << 10, Manifest: archive.Manifest{
		ID: id, Name: "nightly", Namespace: "default", Cluster: archive.Cluster{Name: "example", UID: "u", ClusterID: "c1"},
		Etcd: archive.Etcd{Version: "3.6.16"}, StartedAt: time.Now(), OperatorVersion: "0.5.0",
	}}
	if change != nil {
		change(&job)
	}
	m, err := archive.Write(w.Context(), w.open(), bytes.NewReader(snapshotOf(database)), job)
	must(w, err)
	return m
}

// put writes a file of the store.
func (w *world) put(name string, content []byte) {
	w.Helper()
	must(w, os.MkdirAll(filepath.Dir(w.file(name)), 0o750))
	must(w, os.WriteFile(w.file(name), content, 0o600))
}

// age makes all files below a folder that much older.
func (w *world) age(folder string, by time.Duration) {
	w.Helper()
	for _, file := range w.stored(folder) {
		then := time.Now().Add(-by)
		must(w, os.Chtimes(file, then, then))
	}
}

// database is one that etcd's own packages wrote, with so many keys.
func database(t *testing.T, keys int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	be := backend.NewDefaultBackend(zap.NewNop(), path, backend.WithMmapSize(1<<20))
	tx := be.BatchTx()
	tx.LockOutsideApply()
	for _, bucket := range schema.AllBuckets {
		tx.UnsafeCreateBucket(bucket)
	}
	tx.UnsafePut(schema.Cluster, []byte("clusterVersion"), []byte("3.6.0"))
	tx.Unlock()
	kv := mvcc.New(zap.NewNop(), be, &lease.FakeLessor{}, mvcc.StoreConfig{})
	for n := range keys {
		sum := sha256.Sum256(fmt.Append(nil, n))
		kv.Put(fmt.Appendf(nil, "key-%d", n), bytes.Repeat(sum[:], 8), lease.NoLease)
	}
	kv.Close()
	must(t, be.Close())
	content, err := os.ReadFile(path)
	must(t, err)
	return content
}

// snapshotOf is what etcd sends of a database.
func snapshotOf(database []byte) []byte {
	sum := sha256.Sum256(database)
	return append(bytes.Clone(database), sum[:]...)
}

// left is what Unpack has left for Verify.
func (w *world) left() map[string]any {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.in.Folders.Scratch, jobspec.ScratchFacts))
	must(w, err)
	var facts map[string]any
	must(w, json.Unmarshal(text, &facts))
	return facts
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
