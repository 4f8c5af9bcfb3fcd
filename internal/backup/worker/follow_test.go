// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/worker"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// follow is an order that keeps the log after a backup.
func (r *running) follow(base int64) jobspec.Order {
	r.Helper()
	b := r.backup().Backup
	return jobspec.Order{Verb: jobspec.Follow, Operator: "0.5.0", Follow: &jobspec.FollowOrder{
		Namespace: "default", Cluster: "example", Lineage: fmt.Sprintf("%016s-0", b.ClusterID), ClusterID: b.ClusterID, Base: base,
		Members: b.Members,
		Flush:   20 * time.Millisecond, SegmentSize: 1 << 20, Hash: time.Millisecond, HashBelow: 1 << 30,
	}}
}

// segments are those in the store, read as a restore does: names and headers.
func (r *running) segments(f log.Folder) []log.Listed {
	r.Helper()
	files, err := filepath.Glob(r.file(f.String() + "/*"))
	must(r, err)
	var all []log.Listed
	for _, file := range files {
		name := f.String() + "/" + filepath.Base(file)
		content := r.object(name)
		h, _, err := log.ParseHeader(name, content)
		must(r, err)
		all = append(all, log.Listed{Object: name, Size: int64(len(content)), Header: h})
	}
	return all
}

func (r *running) object(name string) []byte {
	r.Helper()
	content, err := r.open().Get(r.Context(), name, log.MaxStored)
	must(r, err)
	return content
}

// TestLogIsKept by processes of their own, which are killed at random moments, of a cluster that is written to: backup and log together
// are the data of the cluster. The recipients of the log change, and some processes do not encrypt.
func TestLogIsKept(t *testing.T) {
	t.Parallel()
	r := newRunning(t, "3.6.16", 3)
	r.full()
	facts := *r.does(r.backup()).Backup
	order := r.follow(facts.Revision)
	random := rand.New(rand.NewPCG(1, 9))
	recipients := r.recipients(2)
	for n := range 8 {
		order.Follow.Recipients = recipients[n%3:]
		writing, written := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for i := 0; writing.Err() == nil; i++ {
				_ = r.cluster.Member("m1").Put(writing, fmt.Sprintf("key-%d-%d", n, i%20), strings.Repeat("y", i%300)) // it may be cut off
			}
		}()
		r.killed(order, 2+random.IntN(30))
		written()
		<-ended
	}
	last, err := r.client(r.cluster, "m2").Put(t.Context(), "last", "1")
	must(t, err)
	end := last.Header.Revision
	f := log.Folder{Namespace: "default", Cluster: "example", Lineage: order.Follow.Lineage}
	done := r.until(order, func() bool {
		runs, err := log.Prove(f, r.segments(f))
		must(t, err)
		return len(runs) == 1 && runs[0].Last() >= end
	})
	if done.Failed != nil {
		t.Errorf("it was stopped: %+v", done.Failed)
	}
	hash, err := r.cluster.Client("m2").HashKV(t.Context(), end)
	must(t, err)
	writers, encrypted := map[string]bool{}, map[int]bool{}
	for _, s := range r.segments(f) {
		writers[s.Header.Writer] = true
		if e := s.Header.Encryption; e != nil {
			encrypted[len(e.Recipients)] = true
		}
	}
	if len(writers) < 3 || len(encrypted) < 2 {
		t.Errorf("%d processes wrote to the log, to %v recipients", len(writers), encrypted)
	}
	r.isTheData(f, facts, datadir.HashKV{Hash: hash.Sum, Revision: end, CompactRevision: hash.Compacted})
	r.restoresTo(f, facts, end)
	// The log is no rest of a backup, nor a foreign one.
	checked := r.says(check(jobspec.CheckOrder{Write: true, Sweep: true}))
	if c := checked[len(checked)-1].Done.Check; c.Backups != 1 || c.Unknown != 0 {
		t.Errorf("%+v", c)
	}
}

// restoresTo restores members to a revision in the middle, by its number and by its time, and to the end: etcd has exactly what the
// cluster had.
func (r *running) restoresTo(f log.Folder, facts jobspec.Facts, end int64) {
	r.Helper()
	segments := r.segments(f)
	// Where the next one has another time: the clock of those that are killed is ahead, and a log's time never goes back.
	i := slices.IndexFunc(segments[1:], func(s log.Listed) bool {
		next := slices.IndexFunc(segments, func(n log.Listed) bool { return n.Header.First == s.Header.Next() })
		return s.Header.Complete && next > 0 && segments[next].Header.Began.After(s.Header.Ended)
	})
	if i < 0 {
		r.Fatal("all segments have one time")
	}
	middle := segments[1+i].Header
	for name, target := range map[string]jobspec.TargetOrder{
		"a revision": {Revision: middle.Last.Revision}, "a time": {Time: middle.Ended}, "the end": {Revision: end},
	} {
		want := end
		if name != "the end" {
			want = middle.Last.Revision
		}
		target.Lineage = f.Lineage
		c := process.New(r.T, 1)
		m := c.Member("m1")
		r.in.Folders.Member = filepath.Dir(m.Data)
		order := jobspec.Order{Verb: jobspec.Restore, Restore: &jobspec.RestoreOrder{
			Path: path, ManifestSHA256: facts.ManifestSHA256, DataDirectory: filepath.Base(m.Data), Member: "m1", Minor: "3.6", Token: "t",
			InitialCluster: map[string]string{"m1": c.PeerURL("m1")}, Target: &target, Identities: true,
		}}
		done := r.does(order)
		if reached := done.Reached; reached == nil || reached.Revision != want || reached.At.IsZero() {
			r.Errorf("%s: %+v", name, done.Reached)
		}
		if again := r.does(order); again.Reached == nil { // a Job whose answer was lost
			r.Errorf("%+v", again)
		}
		m.Start("3.6.16", c.Joins("existing", "m1")...)
		c.Serves("m1")
		r.hasTheKeys(c, want)
		m.Stop()
	}
	late := jobspec.Order{Verb: jobspec.Restore, Restore: &jobspec.RestoreOrder{
		Path: path, DataDirectory: "late", Member: "m1", Minor: "3.6", Token: "t", InitialCluster: map[string]string{"m1": "http://127.0.0.1:1"},
		Target: &jobspec.TargetOrder{Lineage: f.Lineage, Revision: end + 1000},
	}}
	r.fails(late, jobspec.NotReached, true, "the log ends before")
	late.Restore.Target.Revision = end
	r.fails(late, jobspec.WrongKey, true, "none was given, and it is encrypted to age1")
	late.Restore.Target.Lineage = "0123456789abcdef-0"
	r.fails(late, jobspec.UnsupportedJobSpec, true, "is none of cluster")
}

// hasTheKeys compares all keys of a restored cluster with those that the cluster had at a revision.
func (r *running) hasTheKeys(c *process.Cluster, revision int64) {
	r.Helper()
	r.hasTheKeysOf("m2", c, revision)
}

// hasTheKeysOf asks another member of the cluster for them.
func (r *running) hasTheKeysOf(member string, c *process.Cluster, revision int64) {
	r.Helper()
	all := func(cluster *process.Cluster, name string) *clientv3.GetResponse {
		found, err := r.client(cluster, name).Get(r.Context(), "\x00", clientv3.WithFromKey(), clientv3.WithRev(revision))
		must(r, err)
		return found
	}
	was, is := all(r.cluster, member), all(c, "m1")
	if is.Header.Revision != revision || was.Count != is.Count {
		r.Errorf("revision %d with %d keys; it was %d with %d", is.Header.Revision, is.Count, revision, was.Count)
	}
	for i := range was.Kvs {
		if was.Kvs[i].String() != is.Kvs[i].String() {
			r.Errorf("%s is restored as %s", was.Kvs[i], is.Kvs[i])
		}
	}
}

// until carries out an order until something is so, and stops it.
func (r *running) until(order jobspec.Order, is func() bool) jobspec.Line {
	r.Helper()
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	in := r.in
	var out bytes.Buffer
	in.Out = &out
	ended := make(chan int)
	go func() { ended <- worker.Main(ctx, []string{onVolume(order).Encode()}, in) }()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.Fatal("waited a minute for the log")
		}
	}
	stop()
	<-ended
	lines := r.read(&out)
	return lines[len(lines)-1]
}

// unpacked is the database of a backup, in a file.
func (r *running) unpacked(f archive.Folder) string {
	r.Helper()
	m, err := archive.ReadManifest(r.Context(), r.open(), f)
	must(r, err)
	database, err := archive.Open(r.Context(), r.open(), m, nil, nil)
	must(r, err)
	content, err := io.ReadAll(database)
	must(r, errors.Join(err, database.Close()))
	path := filepath.Join(r.TempDir(), "db")
	must(r, os.WriteFile(path, content, 0o600))
	return path
}

// isTheData replays the log onto the database of the backup.
func (r *running) isTheData(f log.Folder, facts jobspec.Facts, want datadir.HashKV) {
	r.Helper()
	segments := r.segments(f)
	bases := []log.Base{{ID: facts.ID, Revision: facts.Revision, Finished: facts.FinishedAt}}
	plan, err := log.Choose(f, bases, segments, log.Target{Revision: want.Revision})
	must(r, err)
	path := r.unpacked(archive.Folder{Namespace: "default", Cluster: "example", ID: "uid-1"})
	replayed, err := datadir.Replay(r.Context(), path, func(yield func(datadir.Event, error) bool) {
		for e, err := range plan.Follow(r.identities()).Events(func(name string) ([]byte, error) { return r.object(name), nil }) {
			if !yield(datadir.Event(e), err) {
				return
			}
		}
	})
	must(r, err)
	got, err := datadir.HashAsOf(r.Context(), path, want.CompactRevision)
	must(r, err)
	if got != want {
		r.Errorf("%+v; etcd says %+v", got, want)
	}
	r.Logf("%d segments, %d events up to revision %d, hash %d", len(segments), replayed.Events, replayed.Revision, got.Hash)
}

// recipients makes that many, whose identities restores have.
func (r *running) recipients(n int) (public []string) {
	r.Helper()
	var secret []byte
	for range n {
		key, err := age.GenerateX25519Identity()
		must(r, err)
		public, secret = append(public, key.Recipient().String()), append(secret, key.String()+"\n"...)
	}
	must(r, os.WriteFile(filepath.Join(r.in.Folders.Identities, "identities"), secret, 0o600))
	return public
}

func (r *running) identities() encryption.Identities {
	r.Helper()
	secret, err := os.ReadFile(filepath.Join(r.in.Folders.Identities, "identities"))
	must(r, err)
	return encryption.ParseIdentities(secret)
}
