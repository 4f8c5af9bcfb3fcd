// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// memory is a store that remembers how it was used, and fails when a test has it fail.
type memory struct {
	lock    sync.Mutex
	objects map[string][]byte
	opened  []string
	calls   int

	heads     []string // of which the first bytes were read
	headBytes int

	// before and after the effect of call number n; an error is its answer.
	before, after func(n int, name string) error

	sending, mostSending int
	held, mostHeld       int // bytes
	slow                 chan struct{}
}

func newMemory() *memory { return &memory{objects: map[string][]byte{}} }

func (m *memory) copy() *memory {
	m.lock.Lock()
	defer m.lock.Unlock()
	return &memory{objects: maps.Clone(m.objects)}
}

func (m *memory) call(name string, effect func() error) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.calls++
	if m.before != nil {
		if err := m.before(m.calls, name); err != nil {
			return err
		}
	}
	if err := effect(); err != nil {
		return err
	}
	if m.after != nil {
		return m.after(m.calls, name)
	}
	return nil
}

func (m *memory) Put(ctx context.Context, name string, content []byte) error {
	if strings.HasSuffix(name, ".part") {
		m.count(1, len(content))
		defer m.count(-1, -len(content))
	}
	if m.slow != nil {
		<-m.slow
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return m.call(name, func() error {
		if old, there := m.objects[name]; there && !bytes.Equal(old, content) {
			return fmt.Errorf("%s is there with other content", name)
		}
		m.objects[name] = bytes.Clone(content)
		return nil
	})
}

func (m *memory) count(calls, bytes int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.sending, m.held = m.sending+calls, m.held+bytes
	m.mostSending, m.mostHeld = max(m.mostSending, m.sending), max(m.mostHeld, m.held)
}

func (m *memory) Get(_ context.Context, name string, limit int64) (content []byte, err error) {
	err = m.call(name, func() error {
		found, there := m.objects[name]
		switch {
		case !there:
			return fmt.Errorf("get %s: %w", name, fs.ErrNotExist)
		case int64(len(found)) > limit:
			return fmt.Errorf("%s is too large", name)
		}
		content = found
		return nil
	})
	return content, err
}

func (m *memory) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	content, err := m.Get(ctx, name, 1<<40)
	m.lock.Lock()
	defer m.lock.Unlock()
	m.opened = append(m.opened, name)
	return io.NopCloser(bytes.NewReader(content)), err
}

func (m *memory) Head(_ context.Context, name string, bytes int64) (head []byte, err error) {
	err = m.call(name, func() error {
		content, there := m.objects[name]
		if !there {
			return fmt.Errorf("get %s: %w", name, fs.ErrNotExist)
		}
		head = content[:min(int64(len(content)), bytes)]
		m.heads, m.headBytes = append(m.heads, name), m.headBytes+len(head)
		return nil
	})
	return head, err
}

func (m *memory) List(_ context.Context, prefix string) iter.Seq2[archive.Object, error] {
	return func(yield func(archive.Object, error) bool) {
		for i, name := range slices.Sorted(maps.Keys(m.objects)) {
			object := archive.Object{Name: name, Size: int64(len(m.objects[name])), Modified: today.Add(time.Duration(i) * time.Second)}
			if strings.HasPrefix(name, prefix) && !yield(object, nil) {
				return
			}
		}
	}
}

var today = time.Date(2026, 11, 24, 3, 0, 0, 0, time.UTC)
