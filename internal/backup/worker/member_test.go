// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// pairs are keys with their values.
type pairs map[string]string

// parsed are words such as key=value.
func parsed(text string) pairs {
	all := pairs{}
	for _, word := range strings.Fields(text) {
		key, value, _ := strings.Cut(word, "=")
		all[key] = value
	}
	return all
}

// memoryMember has keys in memory, at each revision.
type memoryMember struct {
	etcd.Client // what is not asked

	at        []map[string]etcd.Item // by revision
	compacted int64                  // up to which revision, but for that one
	most      int                    // changes at once; 0: as many as there are
	fails     func() bool            // whether the next call, or its answer, is lost
}

func newMember(keys pairs) *memoryMember {
	m := &memoryMember{at: []map[string]etcd.Item{nil, {}}, fails: func() bool { return false }}
	m.becomes(keys)
	return m
}

func (m *memoryMember) revisionNow() int64 { return int64(len(m.at) - 1) }

// change makes another revision.
func (m *memoryMember) change(change func(now map[string]etcd.Item, revision int64)) {
	next := maps.Clone(m.at[m.revisionNow()])
	change(next, m.revisionNow()+1)
	m.at = append(m.at, next)
}

func (m *memoryMember) put(key, value string) {
	m.change(func(now map[string]etcd.Item, revision int64) {
		now[key] = etcd.Item{KeyValue: etcd.KeyValue{Key: []byte(key), Value: []byte(value)}, Changed: revision}
	})
}

func (m *memoryMember) remove(key string) {
	m.change(func(now map[string]etcd.Item, _ int64) { delete(now, key) })
}

func (m *memoryMember) becomes(keys pairs) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		m.put(key, keys[key])
	}
}

// does what words say: key=value puts a key, and key deletes it. It may compact all revisions, or go back to one before.
func (m *memoryMember) does(text string) {
	for _, word := range strings.Fields(text) {
		key, value, isPut := strings.Cut(word, "=")
		switch {
		case word == "compact":
			m.compacted = m.revisionNow()
		case word == "back":
			m.at = m.at[:4]
		case isPut:
			m.put(key, value)
		default:
			m.remove(key)
		}
	}
}

// now are the keys that begin with a prefix.
func (m *memoryMember) now(prefix string) pairs {
	all := pairs{}
	for key, item := range m.at[m.revisionNow()] {
		if strings.HasPrefix(key, prefix) {
			all[key] = string(item.Value)
		}
	}
	return all
}

// answer carries out a call, of which the request or the answer may be lost.
func (m *memoryMember) answer(ctx context.Context, call func() error) error {
	isLost := m.fails()
	if isLost && m.fails() {
		return context.DeadlineExceeded
	}
	err := call()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case isLost:
		return context.DeadlineExceeded
	default:
		return err
	}
}

func (m *memoryMember) Revision(ctx context.Context) (revision int64, err error) {
	return revision, m.answer(ctx, func() error { revision = m.revisionNow(); return nil })
}

func (m *memoryMember) Get(ctx context.Context, key []byte) (item etcd.Item, err error) {
	err = m.answer(ctx, func() error { item = m.at[m.revisionNow()][string(key)]; return nil })
	return item, err
}

func (m *memoryMember) Page(ctx context.Context, from []byte, revision, limit int64) (page etcd.Page, err error) {
	err = m.answer(ctx, func() error {
		if revision < m.compacted {
			return fmt.Errorf("read keys: %w", etcd.ErrCompacted)
		}
		for _, key := range slices.Sorted(maps.Keys(m.at[revision])) {
			switch {
			case bytes.Compare([]byte(key), from) < 0:
			case int64(len(page.Items)) == limit:
				page.More = true
			default:
				page.Items = append(page.Items, m.at[revision][key])
			}
		}
		return nil
	})
	return page, err
}

func (m *memoryMember) ApplyIf(ctx context.Context, changes []etcd.Guarded) (made []bool, revision int64, err error) {
	err = m.answer(ctx, func() error {
		if m.most > 0 && len(changes) > m.most {
			return fmt.Errorf("write keys: %w", etcd.ErrTooLarge)
		}
		made = make([]bool, len(changes))
		m.change(func(now map[string]etcd.Item, revision int64) {
			for i, c := range changes {
				if made[i] = now[string(c.Key)].Changed == c.ModRevision; !made[i] {
					continue
				}
				if delete(now, string(c.Key)); !c.Deleted {
					now[string(c.Key)] = etcd.Item{KeyValue: c.KeyValue, Changed: revision}
				}
			}
		})
		if !slices.Contains(made, true) {
			m.at = m.at[:len(m.at)-1]
		}
		revision = m.revisionNow()
		return nil
	})
	return made, revision, err
}

// cluster has the member as each of its members.
func (m *memoryMember) cluster() *liveCluster {
	return &liveCluster{
		job: job{say: newProgressWriter(io.Discard, time.Now)}, of: jobspec.Live{Members: make([]jobspec.Member, 9)},
		fit: slices.Repeat([]candidate{{client: m}}, 1000),
	}
}
