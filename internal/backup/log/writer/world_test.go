// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/writer"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

var (
	folder  = log.Folder{Namespace: "shop", Cluster: "orders", Lineage: "c-0"}
	errDown = errors.New("the store is down")
)

const base = 10

// memory is a store that may be down, or lose answers.
type memory struct {
	lock    sync.Mutex
	objects map[string][]byte
	down    bool
	lose    int           // of so many writes one answer is lost; 0: none
	hold    chan struct{} // writes wait until it is closed; nil: they do not
	puts    int
}

func newMemory() *memory { return &memory{objects: map[string][]byte{}} }

func (m *memory) Put(ctx context.Context, name string, content []byte) error {
	m.lock.Lock()
	hold := m.hold
	m.lock.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.puts++; m.down {
		return errDown
	}
	if there, found := m.objects[name]; found && !bytes.Equal(there, content) {
		return fmt.Errorf("put %s: %w", name, fs.ErrExist)
	}
	m.objects[name] = bytes.Clone(content)
	if m.lose > 0 && m.puts%m.lose == 0 {
		return errors.New("the answer is lost")
	}
	return nil
}

func (m *memory) Get(_ context.Context, name string, _ int64) ([]byte, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	content, found := m.objects[name]
	if !found {
		return nil, fs.ErrNotExist
	}
	return content, nil
}

func (m *memory) Names(_ context.Context, folder string) iter.Seq2[string, error] {
	m.lock.Lock()
	names := slices.Sorted(maps.Keys(m.objects))
	m.lock.Unlock()
	return func(yield func(string, error) bool) {
		for _, name := range names {
			if strings.HasPrefix(name, folder) && !yield(name, nil) {
				return
			}
		}
	}
}

func (m *memory) set(change func(*memory)) {
	m.lock.Lock()
	defer m.lock.Unlock()
	change(m)
}

// listed are all segments, with headers that are read.
func (m *memory) listed(t testing.TB) []log.Listed {
	t.Helper()
	var all []log.Listed
	for name := range m.Names(t.Context(), folder.String()) {
		content := must(m.Get(t.Context(), name, 0))(t)
		h, _, err := log.ParseHeader(name, content[:min(len(content), log.HeaderSize)])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, log.Listed{Object: name, Size: int64(len(content)), Header: h})
	}
	return all
}

// runs proves what is in the store.
func (m *memory) runs(t testing.TB) []log.Run {
	t.Helper()
	return must(log.Prove(folder, m.listed(t)))(t)
}

// member is a source whose history is a list.
type member struct {
	lock      sync.Mutex
	version   string
	cluster   uint64
	events    []etcd.Event // all of them, from revision base+1 on
	compacted int64
	claims    int64 // what it says it has delivered, if more than it has
	changed   chan struct{}
}

func newMember(revisions int) *member {
	m := &member{version: "3.6.16", cluster: 7, changed: make(chan struct{})}
	m.write(revisions)
	return m
}

// write adds revisions; each third has two events.
func (m *member) write(revisions int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for range revisions {
		revision := m.revision() + 1
		for sub := range 1 + max(0, revision%3-1) {
			m.events = append(m.events, etcd.Event{
				Revision: revision, Sub: sub, Key: fmt.Append(nil, sub), Value: fmt.Append(nil, revision), CreateRevision: 1, Version: revision,
			})
		}
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *member) revision() int64 {
	if len(m.events) == 0 {
		return base
	}
	return m.events[len(m.events)-1].Revision
}

func (m *member) Status(context.Context) (etcd.Status, error) {
	return etcd.Status{ClusterID: m.cluster, Version: m.version}, nil
}

func (m *member) Revision(context.Context) (int64, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.revision(), nil
}

func (m *member) HashKV(_ context.Context, revision int64) (etcd.Hash, error) {
	return etcd.Hash{Sum: uint32(revision), Compacted: 3}, nil //nolint:gosec // small
}

// History delivers each event by itself, so that revisions of two come in two deliveries, and then says how far it is.
func (m *member) History(ctx context.Context, from int64, _ time.Duration, each func(etcd.Delivery) error) error {
	for n := 0; ; {
		m.lock.Lock()
		all, compacted, changed, claims := slices.Clone(m.events), m.compacted, m.changed, m.claims
		m.lock.Unlock()
		if from < compacted {
			return &etcd.CompactedError{From: from, Compacted: compacted}
		}
		for ; n < len(all); n++ {
			e := all[n]
			if e.Revision < from {
				continue
			}
			complete := e.Revision
			if n+1 < len(all) && all[n+1].Revision == complete {
				complete--
			}
			if err := each(etcd.Delivery{Events: all[n : n+1], Complete: complete}); err != nil {
				return err
			}
		}
		if err := each(etcd.Delivery{Complete: max(m.last(all), claims)}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (*member) last(all []etcd.Event) int64 {
	if len(all) == 0 {
		return base
	}
	return all[len(all)-1].Revision
}

// config is that of a writer with that store and that member.
func config(m *memory, from writer.Source, name string) writer.Config {
	return writer.Config{
		Store: m, Folder: folder, Name: name, Base: base, ClusterID: 7, Flush: 10 * time.Millisecond, SegmentSize: 1 << 20, Ask: time.Second,
		Connect: func(context.Context) (writer.Source, error) { return from, nil }, Now: time.Now,
	}
}

// started is a writer that runs; the function ends it.
func started(t testing.TB, c writer.Config) (ended <-chan error, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- writer.Run(ctx, c) }()
	t.Cleanup(cancel)
	return result, func() error { cancel(); return <-result }
}

// until waits generously.
func until(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// written waits until the store has everything up to a revision.
func (m *memory) written(t testing.TB, revision int64) {
	t.Helper()
	until(t, fmt.Sprint("revision ", revision), func() bool {
		runs := m.runs(t)
		return len(runs) > 0 && runs[len(runs)-1].Last() >= revision
	})
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
