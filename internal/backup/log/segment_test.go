// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// TestReadsWhatWasWritten: every event with all that etcd keeps of it, the time and the extent of every batch.
func TestReadsWhatWasWritten(t *testing.T) {
	for seed := range uint64(50) {
		batches := history(seed, 40)
		var got []log.Batch
		s := store(t, batches, 1+int(seed)%9)
		for _, listed := range s.listed {
			segment := must(log.Parse(listed.Object, s.content[listed.Object]))(t)
			if !reflect.DeepEqual(segment.Header, listed.Header) {
				t.Errorf("header %+v, was %+v", segment.Header, listed.Header)
			}
			for b, err := range segment.Batches(listed.Object) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b)
			}
		}
		if len(got) != len(batches) {
			t.Fatalf("%d batches of %d", len(got), len(batches))
		}
		for i := range got {
			same(t, got[i], batches[i])
		}
	}
}

func same(t *testing.T, got, want log.Batch) {
	t.Helper()
	if !got.Time.Equal(want.Time) || got.Complete != want.Complete || len(got.Events) != len(want.Events) {
		t.Fatalf("batch %+v, was %+v", got, want)
	}
	for i := range got.Events {
		if !sameEvent(got.Events[i], want.Events[i]) {
			t.Fatalf("event %+v, was %+v", got.Events[i], want.Events[i])
		}
	}
}

// sameEvent: an empty value is one that is not there.
func sameEvent(a, b log.Event) bool {
	sameBytes := bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value)
	a.Key, a.Value, b.Key, b.Value = nil, nil, nil, nil
	return sameBytes && reflect.DeepEqual(a, b)
}

// TestEveryFlippedByteIsFound, every end that is missing, and everything that is added.
func TestEveryFlippedByteIsFound(t *testing.T) {
	s := store(t, history(1, 12), 12)
	name := s.listed[0].Object
	whole := s.content[name]
	damaged := func(what string, n int, content []byte) {
		if _, err := log.Parse(name, content); !errors.Is(err, log.Damaged) && !errors.Is(err, log.Newer) {
			t.Fatalf("%s %d of %d: %v", what, n, len(whole), err)
		}
	}
	for n := range whole {
		for _, bit := range []byte{1, 0x10, 0x80, 0xff} {
			content := bytes.Clone(whole)
			content[n] ^= bit
			damaged("flipped byte", n, content)
		}
		damaged("cut at", n, whole[:n])
	}
	damaged("longer by", 1, append(bytes.Clone(whole), 0))
	damaged("twice", 2, append(bytes.Clone(whole), whole...))
}

// TestWhatSumsDoNotShow: a segment whose sums are right has something else in it than its header says.
func TestWhatSumsDoNotShow(t *testing.T) {
	whole := must(log.Parse("a", first(store(t, history(2, 5), 5))))(t)
	for name, change := range map[string]func(*log.Header){
		"another first event":      func(h *log.Header) { h.First.Revision--; h.Base-- },
		"another last event":       func(h *log.Header) { h.Last.Sub++ },
		"more events":              func(h *log.Header) { h.Events++ },
		"more bytes":               func(h *log.Header) { h.Size++ },
		"less bytes":               func(h *log.Header) { h.Size-- },
		"a revision that is open":  func(h *log.Header) { h.Complete = false },
		"a beginning that is late": func(h *log.Header) { h.Began = h.Ended },
		"an early end":             func(h *log.Header) { h.Ended = h.Began },
	} {
		changed := whole
		change(&changed.Header)
		var err error
		for _, err = range changed.Batches("a") {
			if err != nil {
				break
			}
		}
		if !errors.Is(err, log.Damaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func first(s stored) []byte { return s.content[s.listed[0].Object] }

// TestHeadersThatCannotBe: their sums are right.
func TestHeadersThatCannotBe(t *testing.T) {
	good := store(t, history(3, 3), 3).listed[0].Header
	for name, change := range map[string]func(*log.Header){
		"no format":              func(h *log.Header) { h.Format = 0 },
		"a lineage above":        func(h *log.Header) { h.Lineage = "../x" },
		"another compression":    func(h *log.Header) { h.Compression = "gzip" },
		"neither base nor other": func(h *log.Header) { h.Base = 0 },
		"base and other":         func(h *log.Header) { h.Previous = h.SHA256 },
		"no sum of events":       func(h *log.Header) { h.SHA256 = "x" },
		"a hole after its base":  func(h *log.Header) { h.Base-- },
		"it ends before":         func(h *log.Header) { h.Last = log.Position{Revision: 1} },
		"more revisions":         func(h *log.Header) { h.Last.Revision += h.Events },
		"no events":              func(h *log.Header) { h.Events = 0 },
		"too many bytes":         func(h *log.Header) { h.Size = log.MaxSize + 1 },
		"nothing stored":         func(h *log.Header) { h.Stored = 0 },
		"it ends earlier":        func(h *log.Header) { h.Ended = h.Began.Add(-1) },
		"nanoseconds":            func(h *log.Header) { h.Ended = h.Ended.Add(1) },
		"a hash of later":        func(h *log.Header) { h.Hash = &log.HashKV{Revision: h.Last.Revision + 1} },
		"other encryption":       func(h *log.Header) { h.Encryption = &log.Encryption{Format: "gpg", Recipients: []string{"a"}} },
		"encrypted to nobody":    func(h *log.Header) { h.Encryption = &log.Encryption{Format: "age"} },
		"no last event": func(h *log.Header) {
			h.Encryption = &log.Encryption{Format: "age", Recipients: []string{"a"}}
		},
		"no revision": func(h *log.Header) { h.First.Revision, h.Base = 0, 0; h.Previous = h.SHA256 },
	} {
		h := good
		change(&h)
		line := must(h.Encode())(t)
		if _, _, err := log.ParseHeader("a", line); !errors.Is(err, log.Damaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	newer := must(func() ([]byte, error) { good.Format = 2; return good.Encode() }())(t)
	if _, _, err := log.ParseHeader("a", newer); !errors.Is(err, log.Newer) {
		t.Errorf("a newer format: %v", err)
	}
	if _, _, err := log.ParseHeader("a", bytes.Repeat([]byte{' '}, 2*log.HeaderSize)); !errors.Is(err, log.Damaged) {
		t.Errorf("no end: %v", err)
	}
}

// TestEncoderRefuses what does not follow, and stays as it was.
func TestEncoderRefuses(t *testing.T) {
	start := log.Start{Lineage: folder.Lineage, Writer: "w", Base: base, First: log.Position{Revision: base + 1}}
	put := func(revision, sub int64) log.Event {
		return log.Event{Revision: revision, Sub: sub, Key: []byte("k"), Value: []byte("v"), CreateRevision: 1, Version: 1}
	}
	changed := func(change func(*log.Event)) []log.Event {
		e := put(base+1, 0)
		change(&e)
		return []log.Event{e}
	}
	large := put(base+1, 0)
	large.Value = make([]byte, log.MaxSize)
	for name, c := range map[string]struct {
		events []log.Event
		want   log.Kind
	}{
		"a later revision":     {[]log.Event{put(base+2, 0)}, log.Disorder},
		"an earlier revision":  {[]log.Event{put(base, 0)}, log.Disorder},
		"no first event":       {[]log.Event{put(base+1, 1)}, log.Disorder},
		"a hole":               {[]log.Event{put(base+1, 0), put(base+3, 0)}, log.Disorder},
		"a hole in a revision": {[]log.Event{put(base+1, 0), put(base+1, 2)}, log.Disorder},
		"the same twice":       {[]log.Event{put(base+1, 0), put(base+1, 0)}, log.Disorder},
		"no key":               {changed(func(e *log.Event) { e.Key = nil }), log.Disorder},
		"created later":        {changed(func(e *log.Event) { e.CreateRevision = e.Revision + 1 }), log.Disorder},
		"no version":           {changed(func(e *log.Event) { e.Version = 0 }), log.Disorder},
		"deleted with value":   {changed(func(e *log.Event) { e.Deleted = true }), log.Disorder},
		"too large":            {[]log.Event{large}, log.TooLarge},
	} {
		e := log.NewEncoder(start)
		if err := e.Add(log.Batch{Time: noon, Events: c.events, Complete: true}); !errors.Is(err, c.want) || e.Events() != 0 || e.Size() != 0 {
			t.Errorf("%s: %v, and it has %d events", name, err, e.Events())
		}
		if err := e.Add(log.Batch{Time: noon, Events: []log.Event{put(base+1, 0)}, Complete: true}); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	if _, err := log.NewEncoder(start).Close(nil); !errors.Is(err, log.Disorder) {
		t.Errorf("no events: %v", err)
	}
}

// TestClockThatIsSetBack: times of a log never go back, within a segment and from one to the next.
func TestClockThatIsSetBack(t *testing.T) {
	batches := history(4, 6)
	for i := range batches {
		batches[i].Time = noon.Add(time.Duration(-i) * time.Hour)
	}
	s := store(t, batches, 2)
	if _, err := log.Prove(folder, s.listed); err != nil {
		t.Error(err)
	}
	if ended := s.listed[2].Header.Ended; !ended.Equal(noon) {
		t.Errorf("it ends at %s", ended)
	}
}

// TestLargestSegment: what zstd cannot compress is stored in one request even so.
func TestLargestSegment(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	value := make([]byte, log.MaxSize-1000)
	_, _ = random.Read(value) // it never fails
	s := encode(t, log.Start{Lineage: folder.Lineage, Writer: "w", Base: base, First: log.Position{Revision: base + 1}},
		[]log.Batch{{Time: noon, Complete: true, Events: []log.Event{
			{Revision: base + 1, Key: []byte("k"), Value: value, CreateRevision: 1, Version: 1},
		}}})
	const store = 16<<20 - 1 // objectstore.MaxObject
	if len(s.Content) > log.MaxStored || log.MaxStored > store {
		t.Errorf("%d bytes, most is %d", len(s.Content), log.MaxStored)
	}
	for b, err := range must(log.Parse("a", s.Content))(t).Batches("a") {
		if err != nil || !bytes.Equal(b.Events[0].Value, value) {
			t.Errorf("%d events: %v", len(b.Events), err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, at := range []log.Position{{Revision: 1}, {Revision: 1 << 62, Sub: 12_345_678_901}} {
		name := folder.Object(at)
		if f, first, ok := log.ParseName(name); !ok || f != folder || first != at {
			t.Errorf("%s: %v %v %v", name, f, first, ok)
		}
	}
	if a, b := folder.Object(log.Position{Revision: 9, Sub: 10}), folder.Object(log.Position{Revision: 10}); a > b {
		t.Errorf("%s comes after %s", a, b)
	}
	good := folder.Object(log.Position{Revision: 7})
	for _, bad := range []string{
		"", "v1/shop/orders/uid/manifest.json", strings.Replace(good, "v1", "v2", 1), strings.Replace(good, "/log/", "/x/", 1),
		good + "x", good + "/x", strings.Replace(good, "shop", "Shop", 1), strings.Replace(good, "0000", "000", 1),
		strings.Replace(good, ".00", ".+0", 1), strings.Replace(good, ".0000000000", ".00000000000", 1),
	} {
		if f, at, ok := log.ParseName(bad); ok {
			t.Errorf("%s: %v %v", bad, f, at)
		}
	}
}

func TestVersions(t *testing.T) {
	for release, want := range map[string]bool{
		"3.5.17": false, "3.5.18": true, "3.5.35": true, "3.6.0": false, "3.6.1": false, "3.6.2": true, "3.7.0": true, "4.0.0": true,
		"3.4.40": false, "": false, "3.6.2-rc.1": false,
	} {
		err := log.CheckVersion(release)
		var refused *log.VersionError
		if (err == nil) != want || err != nil && !errors.As(err, &refused) {
			t.Errorf("%q: %v", release, err)
		}
	}
}

// FuzzParse: whatever lies in a store is refused, or is what its header says.
func FuzzParse(f *testing.F) {
	s := store(f, history(5, 6), 3)
	for _, content := range s.content {
		f.Add(content)
	}
	someone := newPerson(f)
	for _, content := range sealed(f, history(5, 6), 3, to(f, someone)).content {
		f.Add(content)
	}
	f.Add([]byte("{}\n"))
	f.Fuzz(func(_ *testing.T, content []byte) {
		segment, err := log.Parse("a", content)
		if err != nil {
			return
		}
		for range segment.Batches("a", of(someone)) { // it ends, and does not panic
		}
	})
}

// FuzzRecords puts anything into a segment with right sums. What is read of it is written again as the same segment.
func FuzzRecords(f *testing.F) {
	for seed := range uint64(4) {
		s := must(log.Parse("a", first(store(f, history(seed, 3), 3))))(f)
		raw := must(unpacked(s))(f)
		f.Add(raw, s.Header.Last.Revision, s.Header.Last.Sub, s.Header.Events, s.Header.Complete)
	}
	f.Fuzz(func(t *testing.T, raw []byte, revision, sub, events int64, complete bool) {
		h := log.Header{
			First: log.Position{Revision: base + 1}, Last: log.Position{Revision: revision, Sub: sub}, Events: events, Complete: complete,
			Began: noon, Ended: noon.Add(24 * time.Hour), Lineage: folder.Lineage, Base: base,
		}
		segment, err := packed(h, raw)
		if err != nil {
			t.Skip()
		}
		again := log.NewEncoder(log.Start{Lineage: folder.Lineage, Base: base, First: h.First})
		for b, err := range segment.Batches("a") {
			if err != nil {
				return
			}
			if err := again.Add(b); err != nil {
				t.Fatalf("what was read cannot be written: %v", err)
			}
		}
		if again.Events() != events {
			t.Errorf("%d events of %d", again.Events(), events)
		}
	})
}
