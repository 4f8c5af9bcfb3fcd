// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"
)

// TestEntriesAreEtcds: name and value of an entry are those that etcd's library makes, for whatever numbers.
func TestEntriesAreEtcds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		e := Event{
			Revision: random.Int64(), Sub: random.Int64N(1000), Key: []byte(fmt.Sprint(random.Int())), Version: random.Int64N(1 << 20),
			CreateRevision: random.Int64N(1 << 40), Lease: -random.Int64() * random.Int64N(2),
			Value: make([]byte, random.IntN(3)*100),
		}
		want, err := proto.Marshal(&mvccpb.KeyValue{
			Key: e.Key, CreateRevision: e.CreateRevision, ModRevision: e.Revision, Version: e.Version, Value: e.Value, Lease: e.Lease,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := e.append(nil)
		if !bytes.Equal(got, want) || len(got) > e.size() {
			t.Fatalf("%+v: %x, not %x", e, got, want)
		}
		start, lease, err := leaseOf(nil, got)
		if err != nil || lease != e.Lease || lease != 0 && !bytes.Equal(got[:start], Event{
			Revision: e.Revision, Key: e.Key, Value: e.Value, CreateRevision: e.CreateRevision, Version: e.Version,
		}.append(nil)) {
			t.Fatalf("%+v has lease %x: %v", e, lease, err)
		}
	}
}

// eventsOf are the entries of a database after a revision, as a log has them.
func eventsOf(t testing.TB, path string, after int64) []Event {
	t.Helper()
	var all []Event
	err := view(t.Context(), path, func(tx *bolt.Tx) error {
		return tx.Bucket(bucketKey).ForEach(func(name, value []byte) error {
			main, err := mainRevision(name)
			if err != nil || main <= after {
				return err
			}
			var kv mvccpb.KeyValue
			if err := proto.Unmarshal(value, &kv); err != nil {
				return err
			}
			e := Event{Revision: main, Deleted: len(name) == tombstoneSize, Key: kv.GetKey(), Value: kv.GetValue()}
			if n := len(all); n > 0 && all[n-1].Revision == main {
				e.Sub = all[n-1].Sub + 1
			}
			e.CreateRevision, e.Version, e.Lease = kv.GetCreateRevision(), kv.GetVersion(), kv.GetLease()
			all = append(all, e)
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func each(events []Event) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// TestReplayedHistories: onto a database of the same history up to any revision, what came later gives the database byte for byte; and its
// hash is the one that etcd has, also if etcd has compacted meanwhile.
func TestReplayedHistories(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 2))
		folder := t.TempDir()
		path, early := filepath.Join(folder, "db"), filepath.Join(folder, "base")
		s := openStore(t, path)
		put := func(n int) {
			for range n {
				if key := fmt.Sprint(random.IntN(8)); random.IntN(4) == 0 {
					s.DeleteRange([]byte(key), []byte("9")) // one revision of several entries
				} else {
					s.put(key, fmt.Sprint(random.Int()))
				}
			}
		}
		put(random.IntN(40))
		s.backend.ForceCommit()
		base := s.Rev()
		snapshot(t, s, early)
		put(1 + random.IntN(60))
		s.backend.ForceCommit()
		later := filepath.Join(folder, "later")
		snapshot(t, s, later)
		events := eventsOf(t, later, base)
		compacted := int64(-1)
		if random.IntN(2) == 0 {
			compacted = 1 + random.Int64N(s.Rev())
			s.compactAt(t, compacted)
		}
		revision := s.Rev()
		s.close()
		want, _ := etcdsHash(t, path)

		done, err := Replay(t.Context(), early, each(events))
		if len(events) == 0 { // nothing was there to be deleted
			revision = base
		}
		if err != nil || done.Revision != revision || done.Events != int64(len(events)) {
			t.Fatalf("seed %d: %+v: %v", seed, done, err)
		}
		got, err := HashAsOf(t.Context(), early, compacted)
		if err != nil || got != want {
			t.Errorf("seed %d: hash %+v; etcd has %+v: %v", seed, got, want, err)
		}
		if err := Check(t.Context(), early, func(fault error) { t.Error(fault) }); err != nil {
			t.Error(err)
		}
	}
}

// snapshot copies the database of a store that is open.
func snapshot(t testing.TB, s etcdStore, path string) {
	t.Helper()
	file := must(os.Create(path))(t)
	open := s.backend.Snapshot()
	_, err := open.WriteTo(file)
	if err := errors.Join(err, open.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestReplayRefuses events that do not follow.
func TestReplayRefuses(t *testing.T) {
	event := func(revision, sub int64) Event {
		return Event{Revision: revision, Sub: sub, Key: []byte("k"), CreateRevision: 1, Version: 1}
	}
	const next = 5 // after three puts
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		events iter.Seq2[Event, error]
		is     func(error) bool
	}{
		"a hole":                 {each([]Event{event(next+1, 0)}), as[*SequenceError]},
		"what is there":          {each([]Event{event(next-1, 0)}), as[*SequenceError]},
		"more of what is there":  {each([]Event{event(next-1, 1)}), as[*SequenceError]},
		"not the first":          {each([]Event{event(next, 1)}), as[*SequenceError]},
		"a hole in a revision":   {each([]Event{event(next, 0), event(next, 2)}), as[*SequenceError]},
		"one twice":              {each([]Event{event(next, 0), event(next, 0)}), as[*SequenceError]},
		"a log that cannot read": {func(yield func(Event, error) bool) { yield(Event{}, broken) }, is(broken)},
	} {
		path := write(t, small(t))
		if _, err := Replay(t.Context(), path, c.events); !c.is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	path := write(t, small(t))
	if done, err := Replay(t.Context(), path, each(nil)); err != nil || done.Revision != next-1 {
		t.Errorf("nothing: %+v %v", done, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	endless := func(yield func(Event, error) bool) {
		for n := int64(next); yield(event(n, 0), nil); n++ {
		}
	}
	if _, err := Replay(ctx, path, endless); !errors.Is(err, context.Canceled) {
		t.Errorf("its context has ended: %v", err)
	}
}

// TestUnknownLeases are detached, known ones stay, whatever the size of values and the number of entries.
func TestUnknownLeases(t *testing.T) {
	path := write(t, small(t))
	edit(t, path, func(tx *bolt.Tx) error {
		return tx.Bucket(bucketLease).Put([]byte{0, 0, 0, 0, 0, 0, 0, 7}, []byte{8, 7, 16, 60})
	})
	var events []Event
	for n := range int64(2000) {
		e := Event{Revision: 5 + n, Key: fmt.Append(nil, n%70), CreateRevision: 5, Version: 1, Lease: []int64{0, 7, 8, -1}[n%4]}
		e.Value = bytes.Repeat([]byte{'x'}, int(n)*20)
		if n%10 == 9 {
			e = Event{Revision: e.Revision, Deleted: true, Key: e.Key}
		}
		events = append(events, e)
	}
	if _, err := Replay(t.Context(), path, each(events)); err != nil {
		t.Fatal(err)
	}
	changed := int64(0)
	want := slices.Clone(events)
	for i := range want {
		if lease := want[i].Lease; lease == 8 || lease == -1 {
			want[i].Lease = 0
			changed++
		}
	}
	if n, err := DetachUnknownLeases(t.Context(), path, 4); n != changed || err != nil {
		t.Errorf("%d of %d: %v", n, changed, err)
	}
	got := eventsOf(t, path, 4)
	if !slices.EqualFunc(got, want, func(a, b Event) bool { return bytes.Equal(a.append(nil), b.append(nil)) }) {
		t.Errorf("%d entries, want %d", len(got), len(want))
	}
	if n, err := DetachUnknownLeases(t.Context(), path, 4); n != 0 || err != nil {
		t.Errorf("again: %d %v", n, err)
	}
	if err := Check(t.Context(), path, func(fault error) { t.Error(fault) }); err != nil {
		t.Error(err)
	}
}

// BenchmarkReplay is of a log of small changes, of which a tenth are deletions, onto a database of as many keys.
func BenchmarkReplay(b *testing.B) {
	const keys, events = 50_000, 200_000
	value := bytes.Repeat([]byte(`{"phase":"Running"}`), 13) // 247 bytes
	base := content(b, database(b, func(s etcdStore) {
		for n := range keys {
			s.put(fmt.Sprintf("/registry/pods/namespace/%08d", n), string(value))
		}
	}))
	log := func(yield func(Event, error) bool) {
		for n := range int64(events) {
			e := Event{Revision: keys + 2 + n, Key: fmt.Appendf(nil, "/registry/pods/namespace/%08d", n%keys)}
			if e.Deleted = n%10 == 0; !e.Deleted {
				e.Value, e.CreateRevision, e.Version, e.Lease = value, 2+n%keys, 2+n/keys, n%2*7
			}
			if !yield(e, nil) {
				return
			}
		}
	}
	for b.Loop() {
		b.StopTimer()
		path := write(b, base)
		b.StartTimer()
		if _, err := Replay(b.Context(), path, log); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
