// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/writer"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// TestGoesOnWhereTheLogEnds, whatever ends the writer, and also if answers of the store are lost.
func TestGoesOnWhereTheLogEnds(t *testing.T) {
	m, store := newMember(20), newMemory()
	store.lose = 3
	for n := range 8 {
		_, stop := started(t, config(store, m, string(rune('a'+n))))
		m.write(30)
		store.written(t, m.revision())
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	runs := store.runs(t)
	if len(runs) != 1 || runs[0].Base != base || runs[0].Last() != base+260 {
		t.Errorf("%d runs, from %d to %d", len(runs), runs[0].Base, runs[0].Last())
	}
}

// TestAnotherWriterWins: the one that comes second stops, and the log is whole.
func TestAnotherWriterWins(t *testing.T) {
	m, store := newMember(5), newMemory()
	first, _ := started(t, config(store, m, "a"))
	store.written(t, base+5)
	second, _ := started(t, config(store, m, "b"))
	lost := 0
	for n := 0; lost == 0; n++ {
		if n == 1000 {
			t.Fatal("both go on")
		}
		m.write(3)
		select {
		case err := <-first:
			lost += fenced(t, err)
		case err := <-second:
			lost += fenced(t, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	store.written(t, m.revision()) // the other one goes on
	if runs := store.runs(t); len(runs) != 1 {
		t.Errorf("%d runs", len(runs))
	}
}

func fenced(t *testing.T, err error) int {
	t.Helper()
	var fenced *writer.FencedError
	if !errors.As(err, &fenced) {
		t.Errorf("%v", err)
	}
	return 1
}

// TestStoreIsDown: what waits in memory has a limit, the member is not read any further, and nothing is missing when the store is back.
func TestStoreIsDown(t *testing.T) {
	m, store := newMember(5), newMemory()
	store.down = true
	var lock sync.Mutex
	var last writer.Progress
	most := int64(0)
	c := config(store, m, "a")
	c.SegmentSize = 1000
	c.Report = func(p writer.Progress) {
		lock.Lock()
		defer lock.Unlock()
		last, most = p, max(most, p.Waiting)
	}
	now := func() writer.Progress { lock.Lock(); defer lock.Unlock(); return last }
	_, stop := started(t, c)
	m.write(3000)
	until(t, "the buffer to be full", func() bool { return now().Waiting >= 2000 && now().StoreProblem != nil })
	time.Sleep(50 * time.Millisecond)
	if now().Waiting > 3200 {
		t.Errorf("%d bytes wait", now().Waiting)
	}
	store.set(func(m *memory) { m.down = false })
	store.written(t, base+3005)
	until(t, "it to be reported", func() bool { p := now(); return p.Waiting == 0 && p.StoreProblem == nil && !p.Until.IsZero() })
	if p := now(); p.Next != (log.Position{Revision: base + 3006}) || most > 3200 {
		t.Errorf("%+v, at most %d bytes", p, most)
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestCompactedMeanwhile: the log goes on after a newer full backup, and says that there is a gap; without one it ends, and has what was
// read.
func TestCompactedMeanwhile(t *testing.T) {
	m, store := newMember(5), newMemory()
	_, stop := started(t, config(store, m, "a"))
	store.written(t, base+5)
	_ = stop() // its context ends
	m.write(50)
	m.compacted = base + 40
	ended, _ := started(t, config(store, m, "b"))
	var compacted *etcd.CompactedError
	if err := <-ended; !errors.As(err, &compacted) || compacted.Compacted != base+40 {
		t.Fatalf("%v", err)
	}
	c := config(store, m, "c")
	c.Base = base + 45
	_, stop = started(t, c)
	store.written(t, base+55)
	_ = stop() // its context ends
	runs := store.runs(t)
	if len(runs) != 2 || runs[0].Last() != base+5 || runs[1].Base != base+45 || runs[1].Last() != base+55 {
		t.Errorf("%+v", runs)
	}
	// Once it has gone on, the older backup is no reason to begin again.
	m.write(5)
	_, _ = started(t, config(store, m, "d"))
	store.written(t, base+60)
	if runs := store.runs(t); len(runs) != 2 {
		t.Errorf("%+v", runs)
	}
}

// TestDrains: what was read before a compaction, and waits for the store, is written before the writer ends.
func TestDrains(t *testing.T) {
	m, store := newMember(5), newMemory()
	store.hold = make(chan struct{})
	away := make(chan struct{})
	c := config(store, m, "a")
	c.SegmentSize = 100
	connected := 0
	c.Connect = func(context.Context) (writer.Source, error) {
		if connected++; connected == 1 {
			return breaks{m, away}, nil
		}
		return m, nil
	}
	ended, _ := started(t, c)
	time.Sleep(50 * time.Millisecond)
	m.write(50)
	m.lock.Lock()
	m.compacted = base + 50
	m.lock.Unlock()
	close(away) // the connection breaks, and the next one finds the history compacted
	time.Sleep(50 * time.Millisecond)
	close(store.hold)
	if err := <-ended; !errors.Is(err, etcd.ErrCompacted) {
		t.Error(err)
	}
	if last := store.runs(t)[0].Last(); last < base+5 {
		t.Errorf("it has revision %d", last)
	}
}

// breaks is a member whose watch ends when it is told to.
type breaks struct {
	*member
	at <-chan struct{}
}

func (b breaks) History(ctx context.Context, from int64, ask time.Duration, each func(etcd.Delivery) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-b.at:
			cancel()
		case <-ctx.Done():
		}
	}()
	return b.member.History(ctx, from, ask, each)
}

// TestHashes are in a later segment than the one that they are of.
func TestHashes(t *testing.T) {
	m, store := newMember(5), newMemory()
	c := config(store, m, "a")
	c.Hash = time.Nanosecond
	_, _ = started(t, c)
	hashes := 0
	until(t, "hashes", func() bool {
		m.write(3)
		hashes = 0
		for _, s := range store.listed(t) {
			if h := s.Header.Hash; h != nil {
				hashes++
				if h.Hash != uint32(h.Revision) || h.CompactRevision != 3 { //nolint:gosec // small
					t.Errorf("%+v", h)
				}
			}
		}
		return hashes > 3
	})
}

// TestRefusals: what cannot go on ends the writer, with an error that says why; everything else is tried again.
func TestRefusals(t *testing.T) {
	m, store := newMember(20), newMemory()
	_, stop := started(t, config(store, m, "a"))
	store.written(t, base+20)
	_ = stop() // its context ends
	end := slices.Max(slices.Collect(names(store)))
	for name, c := range map[string]struct {
		change func(*member, *memory)
		is     func(error) bool
	}{
		"set back":         {func(m *member, _ *memory) { m.events = m.events[:15] }, as[*writer.AheadError]},
		"another history":  {func(m *member, _ *memory) { m.events[len(m.events)-1].Value = []byte("x") }, as[*writer.ForkedError]},
		"another creation": {func(m *member, _ *memory) { m.events[len(m.events)-1].CreateRevision++ }, as[*writer.ForkedError]},
		"a damaged end":    {func(_ *member, s *memory) { s.objects[end] = append(s.objects[end], 0) }, is(log.Damaged)},
		"a renamed end": {func(_ *member, s *memory) {
			s.objects[folder.Object(log.Position{Revision: 99})] = s.objects[end]
		}, is(log.Foreign)},
	} {
		other, copied := newMember(20), newMemory()
		for object := range names(store) {
			copied.objects[object] = slices.Clone(store.objects[object])
		}
		c.change(other, copied)
		ended, _ := started(t, config(copied, other, "b"))
		if err := <-ended; !c.is(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		change func(*member)
		is     func(error) bool
	}{
		"an old version":  {func(m *member) { m.version = "3.5.17" }, as[*log.VersionError]},
		"another cluster": {func(m *member) { m.cluster = 8 }, as[*writer.OtherClusterError]},
		"a revision less": {func(m *member) { m.events = slices.Delete(m.events, 3, 4) }, as[*writer.LostError]},
		"an event less":   {func(m *member) { m.events = slices.Delete(m.events, 0, 1) }, as[*writer.LostError]},
		"it claims more":  {func(m *member) { m.claims = base + 30 }, as[*writer.LostError]},
	} {
		other := newMember(20)
		c.change(other)
		problems := make(chan error, 1000)
		conf := config(newMemory(), other, "b")
		conf.Report = func(p writer.Progress) {
			if p.MemberProblem != nil {
				problems <- p.MemberProblem
			}
		}
		_, stop := started(t, conf)
		if err := <-problems; !c.is(err) {
			t.Errorf("%s: %v", name, err)
		}
		_ = stop() // its context ends
	}
}

func names(m *memory) func(func(string) bool) {
	return func(yield func(string) bool) {
		for name := range m.Names(context.Background(), "") {
			if !yield(name) {
				return
			}
		}
	}
}

func as[E error](err error) bool {
	var found E
	return errors.As(err, &found)
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
