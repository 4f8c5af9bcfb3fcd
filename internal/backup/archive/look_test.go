// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// shared is a bucket without a prefix: thousands of objects of others, which may be snapshots by their names, and one that is.
func shared(t *testing.T) (store *memory, snapshot string) {
	t.Helper()
	store = newMemory()
	noise := bytes.Repeat([]byte("no database "), 25<<10) // 300 KiB
	for n := range 3000 {
		store.objects[fmt.Sprintf("builds/%05d.gz", n)] = noise
	}
	database, _ := makeDatabase(t, 1, 30)
	store.objects["a/snapshot.db"] = snapshotOf(database) // the oldest, as it is the first by name
	return store, "a/snapshot.db"
}

// look is one look at a store, as the Job of the next one does it.
func look(t *testing.T, store *memory, how archive.Look) archive.Listing {
	t.Helper()
	store.heads, store.headBytes, store.opened = nil, 0, nil
	got := must(archive.List(t.Context(), store, "", how))(t)
	if len(store.opened) > 0 {
		t.Errorf("%v were opened as a whole", store.opened)
	}
	return got
}

// TestSharedBucket: what one look reads is limited, and what was looked at is not read again.
func TestSharedBucket(t *testing.T) {
	store, snapshot := shared(t)
	how := archive.Look{Most: 512}
	for n := range 6 {
		got := look(t, store, how)
		t.Logf("look %d: %d bytes of %d objects, %d wait", n+1, store.headBytes, len(store.heads), got.Waiting)
		if want := min(512, 3001-512*n); len(store.heads) != want || store.headBytes > want<<17 {
			t.Errorf("look %d reads %d bytes of %d objects, and it should be %d objects", n+1, store.headBytes, len(store.heads), want)
		}
		if want := max(3001-512*(n+1), 0); got.Waiting != want || got.Unseen.Len() != want || got.Unread != 0 {
			t.Errorf("look %d: %d wait, and it should be %d; %d names, %d unread", n+1, got.Waiting, want, got.Unseen.Len(), got.Unread)
		}
		if isThere := len(got.Foreign) == 1; isThere != (n == 5) || got.Unseen.Has(snapshot) == isThere {
			t.Errorf("look %d: %+v; unseen: %t", n+1, got.Foreign, got.Unseen.Has(snapshot))
		}
		how.Memory = throughJSON(t, got.Memory)
	}
	got := look(t, store, how)
	if len(store.heads) != 0 || len(got.Foreign) != 1 || got.Unknown != 3000 || got.Foreign[0].Packing != archive.Plain {
		t.Errorf("the last look reads %v, and finds %+v, %d unknown", store.heads, got.Foreign, got.Unknown)
	}
	store.objects["builds/02999.gz"] = []byte(strings.Repeat("another size", 100))
	if look(t, store, how); !slices.Equal(store.heads, []string{"builds/02999.gz"}) {
		t.Errorf("another object of one of the names: %v are read", store.heads)
	}
	delete(store.objects, "builds/02999.gz")
	if again := look(t, store, how); len(again.Memory["nothing"]) != 2999*archive.NameSize {
		t.Errorf("%d bytes are remembered of what is nothing", len(again.Memory["nothing"]))
	}
}

func throughJSON(t *testing.T, m archive.Memory) (read archive.Memory) {
	t.Helper()
	text := must(json.Marshal(m))(t)
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// TestNamedObjectsAreFirst: an EtcdBackup that names a path waits for no other object.
func TestNamedObjectsAreFirst(t *testing.T) {
	store, snapshot := shared(t)
	got := look(t, store, archive.Look{Most: 1, First: archive.NamesOf([]string{snapshot})})
	if len(got.Foreign) != 1 || got.Foreign[0].Object.Name != snapshot || got.Waiting != 3000 {
		t.Errorf("%+v, and %d wait", got.Foreign, got.Waiting)
	}
}

// TestMemoryIsLimited: it must fit into the argument of a process. What has no room in it is not read at all, unless it is named.
func TestMemoryIsLimited(t *testing.T) {
	store := newMemory()
	for n := range 9000 {
		store.objects[fmt.Sprintf("builds/%05d.gz", n)] = bytes.Repeat([]byte("no"), 100)
	}
	how := archive.Look{Most: 10000}
	got := look(t, store, how)
	text := must(json.Marshal(got.Memory))(t)
	if len(store.heads) != 8192 || got.Waiting != 808 || len(text) > 60<<10 {
		t.Errorf("%d are read, %d wait, and the memory has %d bytes", len(store.heads), got.Waiting, len(text))
	}
	how.Memory = got.Memory
	if look(t, store, how); len(store.heads) != 0 {
		t.Errorf("%d are read again", len(store.heads))
	}
	how.First = archive.NamesOf([]string{"builds/00000.gz"})
	if got = look(t, store, how); !slices.Equal(store.heads, []string{"builds/00000.gz"}) || got.Waiting != 808 {
		t.Errorf("%v are read, and %d wait", store.heads, got.Waiting)
	}
}

// TestObjectsThatCannotBeRead fail no listing, keep no other object from being looked at, and are tried again, each in its turn.
func TestObjectsThatCannotBeRead(t *testing.T) {
	store, snapshot := shared(t)
	forbidden := errors.New("403 InvalidObjectState: the object is in an archive tier")
	allowed := map[string]bool{}
	store.before = func(_ int, name string) error {
		if name >= "builds/01000" && name != snapshot && !allowed[name] {
			return forbidden
		}
		return nil
	}
	how := archive.Look{Most: 1000}
	tried := map[string]int{}
	for n := range 6 {
		got := look(t, store, how)
		if n < 3 && got.Waiting != 3001-1000*(n+1) && n < 2 {
			t.Errorf("look %d: %d wait", n+1, got.Waiting)
		}
		if n < 2 && !errors.Is(got.Trouble, forbidden) {
			t.Errorf("look %d says %v", n+1, got.Trouble)
		}
		if n >= 3 && (len(got.Foreign) != 1 || got.Unread+got.Waiting != 2000 || got.Unknown != 1000) {
			t.Errorf("look %d: %+v, %d unread, %d wait, %d unknown", n+1, got.Foreign, got.Unread, got.Waiting, got.Unknown)
		}
		how.Memory = throughJSON(t, got.Memory)
	}
	store.before = func(_ int, name string) error {
		tried[name]++
		return forbidden
	}
	store.objects["builds/09999.gz"] = bytes.Repeat([]byte("new"), 100)
	for range 2 {
		how.Memory = look(t, store, how).Memory
	}
	if len(tried) < 1999 {
		t.Errorf("of 2001 that cannot be read, %d are tried in two looks of 1000", len(tried))
	}
}

// TestStoreThatGoesDown while it is looked at: no more objects are opened, and that is all.
func TestStoreThatGoesDown(t *testing.T) {
	store, _ := shared(t)
	down := errors.New("503 SlowDown")
	calls := 0
	store.before = func(int, string) error { calls++; return down }
	got := look(t, store, archive.Look{Most: 512, IsDown: func(err error) bool { return errors.Is(err, down) }})
	if calls > 8 || got.Waiting+got.Unread != 3001 || got.Unseen.Len() != 3001 {
		t.Errorf("%d calls; %d wait, %d unread", calls, got.Waiting, got.Unread)
	}
}

// TestTornSnapshots: the database says in its first page how much it has.
func TestTornSnapshots(t *testing.T) {
	store := newMemory()
	database, _ := makeDatabase(t, 1, 30)
	snapshot := snapshotOf(database)
	for name, content := range map[string][]byte{
		"whole.db": snapshot, "copied.db": database, "cut.db": snapshot[:len(snapshot)-5000], "page.db": database[:len(database)-4096],
		"sum.db": snapshot[:len(snapshot)-10],
	} {
		store.objects[name] = content
	}
	how := archive.Look{Most: 10}
	for range 2 { // once by reading, once by memory
		got := look(t, store, how)
		var torn, bare []string
		for _, f := range got.Foreign {
			if f.Incomplete {
				torn = append(torn, f.Object.Name)
			} else if f.NoHash {
				bare = append(bare, f.Object.Name)
			}
		}
		if len(got.Foreign) != 5 || !slices.Equal(torn, []string{"cut.db", "page.db", "sum.db"}) ||
			!slices.Equal(bare, []string{"copied.db"}) {
			t.Errorf("torn: %v, without a sum: %v, of %+v", torn, bare, got.Foreign)
		}
		how.Memory = got.Memory
	}
}

// huge is a bucket with a million objects of others, of which the newest are anywhere.
type huge struct {
	*memory
	held uint64 // bytes in memory when the last object was listed
}

const inHuge, step = 1_000_000, 7919

func (h *huge) List(context.Context, string) iter.Seq2[archive.Object, error] {
	return func(yield func(archive.Object, error) bool) {
		for i := range inHuge {
			at := today.Add(time.Duration(i*step%inHuge) * time.Second)
			if !yield(archive.Object{Name: fmt.Sprintf("logs/of/a/year/%08d.gz", i), Size: 1 << 20, Modified: at}, nil) {
				return
			}
		}
		h.held = heap()
	}
}

func (h *huge) Head(_ context.Context, name string, _ int64) ([]byte, error) {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.heads = append(h.heads, name)
	return []byte("no database"), nil
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestHugeBucket: however many objects there are, little is held of them, and the newest are looked at.
func TestHugeBucket(t *testing.T) {
	store := &huge{memory: newMemory()}
	before := heap()
	got := must(archive.List(t.Context(), store, "", archive.Look{Most: 512}))(t)
	t.Logf("%d KiB are held; %d wait, %d are named", int64(store.held-before)>>10, got.Waiting, got.Unseen.Len())
	if held := store.held - before; held > 32<<20 {
		t.Errorf("%d MiB are held", held>>20)
	}
	if got.Waiting != inHuge-512 || got.Unknown != 512 || got.Unseen.Len() != 64000 || len(store.heads) != 512 {
		t.Errorf("%d wait, %d unknown, %d are named, %d were read", got.Waiting, got.Unknown, got.Unseen.Len(), len(store.heads))
	}
	for _, name := range store.heads {
		var i int
		if _, err := fmt.Sscanf(name, "logs/of/a/year/%d.gz", &i); err != nil || i*step%inHuge < inHuge-512 {
			t.Fatalf("%s is read, which is none of the newest: %v", name, err)
		}
	}
}
