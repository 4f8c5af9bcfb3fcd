// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log/writer"
)

// waiting is a writer that has read everything of a member, and has not written it yet.
func waiting(t *testing.T, m *member, store *memory, grace time.Duration) (stop func() error) {
	t.Helper()
	var waits atomic.Int64
	c := config(store, m, "a")
	c.Flush, c.Grace = time.Hour, grace
	c.Report = func(p writer.Progress) { waits.Store(p.Waiting) }
	_, stop = started(t, c)
	most := int64(0)
	until(t, "everything to be read", func() bool {
		before := most
		most = waits.Load()
		time.Sleep(20 * time.Millisecond)
		return most > 0 && most == before
	})
	return stop
}

// TestStopWrites: a writer that is asked to end writes what it has read, although it is not time to flush.
func TestStopWrites(t *testing.T) {
	m, store := newMember(40), newMemory()
	stop := waiting(t, m, store, time.Minute)
	if len(store.listed(t)) != 0 {
		t.Fatal("it was written before")
	}
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if runs := store.runs(t); len(runs) != 1 || runs[0].Last() != m.revision() {
		t.Errorf("%+v of %d", runs, m.revision())
	}
}

// TestStopWaitsForTheStore, and not for longer than its grace.
func TestStopWaitsForTheStore(t *testing.T) {
	m, store := newMember(40), newMemory()
	store.set(func(s *memory) { s.down = true })
	stop := waiting(t, m, store, 50*time.Millisecond)
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if len(store.listed(t)) != 0 {
		t.Error("it was written although the store was down")
	}
	stop = waiting(t, m, store, time.Minute)
	go func() {
		until(t, "a try", func() bool {
			store.lock.Lock()
			defer store.lock.Unlock()
			return store.puts > 3
		})
		store.set(func(s *memory) { s.down = false })
	}()
	if err := stop(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if runs := store.runs(t); len(runs) != 1 || runs[0].Last() != m.revision() {
		t.Errorf("%+v of %d", runs, m.revision())
	}
}

// TestStoppedWriterIsFenced: what another writer has written meanwhile is the log.
func TestStoppedWriterIsFenced(t *testing.T) {
	m, store := newMember(40), newMemory()
	stop := waiting(t, m, store, time.Minute)
	_, stopOther := started(t, config(store, m, "b"))
	store.written(t, m.revision())
	var is *writer.FencedError
	if err := stop(); !errors.As(err, &is) {
		t.Error(err)
	}
	if err := stopOther(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if runs := store.runs(t); len(runs) != 1 {
		t.Errorf("%d runs", len(runs))
	}
}
