// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/writer"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// TestLogOfRealEtcd: while clients write, compact and lose members, writers end at random moments and others go on, of which two run at
// the same time at times. The log stays whole, and the last full backup with it gives the data that the cluster has, as HashKV proves.
func TestLogOfRealEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd: run it without -short")
	}
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := process.Run(t, version, 3)
			client := dial(t, c, "m1", "m2", "m3")
			random := rand.New(rand.NewPCG(5, 5))
			writes(t, client, random, 100)
			path := filepath.Join(t.TempDir(), "db")
			from := snapshot(t, c, path)
			store := newMemory()
			store.lose = 7
			var running []func() error
			for n := range 12 {
				w := config(store, nil, fmt.Sprint("w", n))
				w.Base, w.ClusterID, w.Ask, w.Hash = from, c.Status("m2").ClusterID, 200*time.Millisecond, 100*time.Millisecond
				w.Connect = members(c, n)
				_, stop := started(t, w)
				running = append(running, stop)
				writes(t, client, random, 20+random.IntN(200))
				if random.IntN(3) > 0 { // else two run
					ends(t, running[0])
					running = running[1:]
				}
				if n == 6 {
					c.Member("m3").Stop()
					writes(t, client, random, 50)
					c.Member("m3").Start(version)
					c.Serves("m3")
				}
				compact(t, client)
			}
			last := must(client.Put(t.Context(), "last", "1"))(t).Header.Revision
			w := config(store, nil, "last")
			w.Base, w.Connect = from, members(c, 0)
			w.ClusterID = c.Status("m2").ClusterID
			for _, stop := range running {
				ends(t, stop)
			}
			_, stop := started(t, w)
			store.written(t, last)
			ends(t, stop)
			want := must(c.Client("m2").HashKV(t.Context(), last))(t)
			isTheData(t, store, path, from, log.HashKV{Hash: want.Sum, Revision: last, CompactRevision: want.Compacted})
		})
	}
}

// members connects to one after another.
func members(c *process.Cluster, n int) func(context.Context) (writer.Source, error) {
	return func(context.Context) (writer.Source, error) {
		n++
		return c.Client(fmt.Sprintf("m%d", 1+n%3)), nil
	}
}

// ends ends a writer, which may have lost its place to another one.
func ends(t *testing.T, stop func() error) {
	t.Helper()
	var fenced *writer.FencedError
	if err := stop(); !errors.Is(err, context.Canceled) && !errors.As(err, &fenced) {
		t.Errorf("%v", err)
	}
}

// isTheData replays the log up to every hash that is in it, and to the end.
func isTheData(t *testing.T, store *memory, path string, from int64, last log.HashKV) {
	t.Helper()
	runs := store.runs(t)
	if len(runs) != 1 || runs[0].Base != from || runs[0].Last() < last.Revision {
		t.Fatalf("%d runs, to %d", len(runs), runs[0].Last())
	}
	var hashes []log.HashKV
	for _, s := range runs[0].Segments {
		if s.Header.Hash != nil {
			hashes = append(hashes, *s.Header.Hash)
		}
	}
	if len(hashes) == 0 {
		t.Error("no hash is in the log")
	}
	hashes = append(hashes[max(0, len(hashes)-5):], last)
	for _, want := range hashes {
		replays(t, store, path, from, want)
		from = want.Revision
	}
	t.Logf("%d segments, %d hashes, revisions %d to %d", len(runs[0].Segments), len(hashes), runs[0].Base, last.Revision)
}

// replays writes what comes after one revision, up to that of the hash, into the database.
func replays(t *testing.T, store *memory, path string, from int64, want log.HashKV) {
	t.Helper()
	if want.Revision <= from {
		return
	}
	bases := []log.Base{{Revision: from, Finished: time.Unix(1, 0)}}
	plan := must(log.Choose(folder, bases, store.listed(t), log.Target{Revision: want.Revision}))(t)
	load := func(object string) ([]byte, error) { return store.Get(t.Context(), object, log.MaxStored) }
	must(datadir.Replay(t.Context(), path, events(plan.Follow().Events(load))))(t)
	got := must(datadir.HashAsOf(t.Context(), path, want.CompactRevision))(t)
	if log.HashKV(got) != want {
		t.Errorf("hash %+v; etcd says %+v", got, want)
	}
}

func events(all iter.Seq2[log.Event, error]) iter.Seq2[datadir.Event, error] {
	return func(yield func(datadir.Event, error) bool) {
		for e, err := range all {
			if !yield(datadir.Event(e), err) {
				return
			}
		}
	}
}

// snapshot takes one, and returns its revision.
func snapshot(t *testing.T, c *process.Cluster, path string) int64 {
	t.Helper()
	var s etcd.Snapshot
	c.Until("a snapshot", func(context.Context) (err error) { s, err = c.Client("m2").Snapshot(t.Context()); return err })
	content := must(io.ReadAll(s))(t)
	const sum = 32
	if err := errors.Join(s.Close(), os.WriteFile(path, content[:len(content)-sum], 0o600)); err != nil {
		t.Fatal(err)
	}
	return must(datadir.Inspect(t.Context(), path, func(datadir.Progress) {}))(t).Revision
}

func dial(t *testing.T, c *process.Cluster, names ...string) *clientv3.Client {
	t.Helper()
	config := clientv3.Config{DialTimeout: 20 * time.Second, Logger: zap.NewNop()}
	for _, name := range names {
		config.Endpoints = append(config.Endpoints, c.Member(name).Client)
	}
	client := must(clientv3.New(config))(t)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// writes makes changes of all kinds, until so many were acknowledged. A member that leads may be gone for a moment.
func writes(t *testing.T, client *clientv3.Client, random *rand.Rand, changes int) {
	t.Helper()
	for range changes {
		key, value := fmt.Sprintf("key-%02d", random.IntN(40)), fmt.Sprint(random.Int())
		var operation clientv3.Op
		switch random.IntN(8) {
		case 0:
			operation = clientv3.OpDelete(key)
		case 1:
			operation = clientv3.OpDelete("key-1", clientv3.WithPrefix())
		case 2:
			operation = clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut(key, value), clientv3.OpPut("a", value), clientv3.OpDelete("b")}, nil)
		default:
			operation = clientv3.OpPut(key, value)
		}
		until(t, "a write", func() bool { _, err := client.Do(t.Context(), operation); return err == nil })
	}
}

// compact drops history up to some revisions before the newest: a writer that is away for a moment still finds what it needs.
func compact(t *testing.T, client *clientv3.Client) {
	t.Helper()
	revision := must(client.Get(t.Context(), "x"))(t).Header.Revision
	if _, err := client.Compact(t.Context(), revision-300, clientv3.WithCompactPhysical()); err != nil {
		t.Logf("compact: %v", err)
	}
}

// TestReaderSaysWhatWasCompacted: a revision that was compacted is a typed error of each version, with the revision up to which it was.
func TestReaderSaysWhatWasCompacted(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd: run it without -short")
	}
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := process.Run(t, version, 1)
			client := dial(t, c, "m1")
			writes(t, client, rand.New(rand.NewPCG(1, 1)), 50)
			revision := must(client.Put(t.Context(), "last", "1"))(t).Header.Revision
			must(client.Compact(t.Context(), revision-5, clientv3.WithCompactPhysical()))(t)
			r := &writer.Reader{From: log.Position{Revision: 3}, Ask: 100 * time.Millisecond, Now: time.Now}
			err := r.Read(t.Context(), c.Client("m1"), func(log.Batch) error { return nil })
			var compacted *etcd.CompactedError
			if !errors.As(err, &compacted) || compacted.Compacted != revision-5 || compacted.From != 3 {
				t.Errorf("%v", err)
			}
			// What is not compacted comes, the very revision of the compaction too, and then the member says that it was all.
			r = &writer.Reader{From: log.Position{Revision: revision - 5}, Ask: 100 * time.Millisecond, Now: time.Now}
			done, events := errors.New("done"), 0
			err = r.Read(t.Context(), c.Client("m1"), func(b log.Batch) error {
				if events += len(b.Events); len(b.Events) == 0 {
					return done
				}
				return nil
			})
			if !errors.Is(err, done) || events < 6 || r.From != (log.Position{Revision: revision + 1}) {
				t.Errorf("%v after %d events, before %s", err, events, r.From)
			}
		})
	}
}

// TestMemberSaysHowFarItIs although nothing was written after what is wanted next: the log is current, and its member is not given up.
func TestMemberSaysHowFarItIs(t *testing.T) {
	if testing.Short() {
		t.Skip("starts etcd: run it without -short")
	}
	for _, version := range process.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := process.Run(t, version, 1)
			client := dial(t, c, "m1")
			revision := must(client.Put(t.Context(), "last", "1"))(t).Header.Revision
			must(client.Compact(t.Context(), revision, clientv3.WithCompactPhysical()))(t)
			r := &writer.Reader{From: log.Position{Revision: revision + 1}, Ask: 100 * time.Millisecond, Now: time.Now}
			done, answers := errors.New("done"), 0
			err := r.Read(t.Context(), c.Client("m1"), func(b log.Batch) error {
				switch answers++; {
				case answers == 1 && len(b.Events) == 0 && b.Complete:
					must(client.Put(t.Context(), "next", "1"))(t)
					return nil
				case len(b.Events) == 1 && string(b.Events[0].Key) == "next":
					return done
				}
				return nil
			})
			if !errors.Is(err, done) || answers < 2 {
				t.Errorf("%v after %d answers", err, answers)
			}
		})
	}
}
