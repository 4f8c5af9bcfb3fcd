// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// A distant store answers after a while, and notes how many parts it sends at a time.
type distant struct {
	*memory
	after         time.Duration
	sending, most atomic.Int32
}

func (d *distant) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	d.most.Store(max(d.most.Load(), d.sending.Add(1)))
	defer d.sending.Add(-1)
	time.Sleep(d.after)
	return d.memory.Open(ctx, name)
}

// Parts are fetched ahead where the store has bandwidth for several at a time. From a slow one they come one by one: each must come at the
// slowest rate that is taken.
func TestPartsAhead(t *testing.T) {
	for after, most := range map[time.Duration]int32{time.Millisecond: archive.PartsAhead, 11 * time.Second: 1} {
		synctest.Test(t, func(t *testing.T) {
			database, _ := makeDatabase(t, 1, 60)
			store := &distant{memory: newMemory(), after: after}
			m := backup(t, store.memory, "a1", database, testPart)
			if len(m.Parts) < 2*archive.PartsAhead {
				t.Fatalf("there are %d parts only", len(m.Parts))
			}
			got, err := restore(t.Context(), store, m.Folder(), nil)
			if err != nil || !bytes.Equal(got, database) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if found := store.most.Load(); found != most {
				t.Errorf("a part takes %s: %d at a time, not %d", after, found, most)
			}
		})
	}
}
