// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package boltstream_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive/boltstream"
)

// What the stream says is what bbolt says of the same file, however the file came to be.
func TestSaysWhatBoltSays(t *testing.T) {
	files := 120
	if testing.Short() {
		files = 20
	}
	for seed := range files {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(uint64(seed), 1))
			path := randomDatabase(t, random)
			want := asked(t, path)
			facts, err := parse(read(t, path), random)
			if err != nil {
				t.Fatal(err)
			}
			if got := answersOf(facts); got != want {
				t.Errorf("read off the stream: %+v, bbolt says: %+v", got, want)
			}
		})
	}
}

// A read transaction that streams while others write sees its own moment.
func TestSnapshotOfDatabaseInUse(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	path := filepath.Join(t.TempDir(), "db")
	w := open(t, path, 4096)
	w.commits(random, 30)
	reader, err := w.db.Begin(false)
	if err != nil {
		t.Fatal(err)
	}
	want := answersIn(reader)
	w.commits(random, 30)
	var content bytes.Buffer
	if _, err := reader.WriteTo(&content); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(reader.Rollback(), w.db.Close()); err != nil {
		t.Fatal(err)
	}
	facts, err := parse(content.Bytes(), random)
	if err != nil {
		t.Fatal(err)
	}
	if got := answersOf(facts); got != want {
		t.Errorf("read off the stream: %+v, bbolt says: %+v", got, want)
	}
}

// No content makes the parser panic.
func TestSurvivesDamage(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	path := randomDatabase(t, random)
	content, want := read(t, path), asked(t, path)
	whole := must(parse(content, random))(t)
	content = content[:whole.Pages*uint64(whole.PageSize)]
	found := 0
	for range 500 {
		damaged := bytes.Clone(content)
		at := random.IntN(len(damaged))
		for i := at; i < min(len(damaged), at+1+random.IntN(64)); i++ {
			damaged[i] = byte(random.Uint32())
		}
		if random.IntN(10) == 0 {
			damaged = damaged[:at]
		}
		if _, err := parse(damaged, random); err != nil {
			found++
		}
	}
	t.Logf("%d of 500 damages are errors of the parser; etcd's sha256 finds all of them", found)
	if facts, err := parse(content, random); err != nil || answersOf(facts) != want {
		t.Errorf("the file itself: %+v, %v", facts, err)
	}
}

func TestWhatIsNoDatabaseOfEtcd(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	other := filepath.Join(t.TempDir(), "db")
	w := open(t, other, 4096)
	w.update(func(tx *bolt.Tx) {
		if err := tx.DeleteBucket([]byte("key")); err != nil {
			t.Fatal(err)
		}
	})
	if err := w.db.Close(); err != nil {
		t.Fatal(err)
	}
	file := read(t, randomDatabase(t, random))
	facts := must(parse(file, random))(t)
	whole := file[:facts.Pages*uint64(facts.PageSize)] // files grow ahead of what is used
	noMeta := bytes.Clone(whole)
	clear(noMeta[:2<<16])
	tests := []struct {
		name    string
		content []byte
		want    error
	}{
		{"nothing", nil, boltstream.ErrNotBolt},
		{"text", bytes.Repeat([]byte("no database "), 1<<14), boltstream.ErrNotBolt},
		{"no meta page", noMeta, boltstream.ErrNotBolt},
		{"cut in half", whole[:len(whole)/2], boltstream.ErrDamaged},
		{"without its last page", whole[:len(whole)-facts.PageSize], boltstream.ErrDamaged},
		{"database of another program", read(t, other), boltstream.ErrNotEtcd},
	}
	for _, test := range tests {
		if _, err := parse(test.content, random); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

// A torn first meta page is what a crash leaves: bbolt goes on with the second one.
func TestFirstMetaPageIsTorn(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	for _, pageSize := range []int{1 << 12, 1 << 14, 1 << 16} {
		path := filepath.Join(t.TempDir(), "db")
		w := open(t, path, pageSize)
		w.commits(random, 20)
		if w.transactions()%2 == 0 {
			w.commits(random, 1) // so that the second meta page is the newer one
		}
		if err := w.db.Close(); err != nil {
			t.Fatal(err)
		}
		want, content := asked(t, path), read(t, path)
		content[16+60] ^= 1
		facts, err := parse(content, random)
		if err != nil || answersOf(facts) != want {
			t.Errorf("pages of %d: %+v, %v, want %+v", pageSize, facts, err, want)
		}
	}
}

// Memory for a database of 4 GiB of pages of 4 KiB: 16 bytes for each page, and what is kept of old roots.
func TestMemoryOfLargeDatabase(t *testing.T) {
	pages := uint64(1 << 20)
	if testing.Short() {
		pages = 1 << 17
	}
	page := make([]byte, 4096)
	var p boltstream.Parser
	before := heap()
	path := filepath.Join(t.TempDir(), "db")
	w := open(t, path, 4096)
	w.commits(rand.New(rand.NewPCG(1, 1)), 3)
	if err := w.db.Close(); err != nil {
		t.Fatal(err)
	}
	_, _ = p.Write(read(t, path)[:8192])
	for id := uint64(2); id < pages; id++ {
		leaf(page, id)
		_, _ = p.Write(page)
	}
	used := heap() - before
	runtime.KeepAlive(&p)
	perPage := float64(used) / float64(pages)
	t.Logf("%d pages: %.1f MiB, %.1f bytes for each page", pages, float64(used)/(1<<20), perPage)
	if perPage > 24 {
		t.Errorf("%d bytes for %d pages", used, pages)
	}
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// leaf makes a page with one key of etcd's.
func leaf(page []byte, id uint64) {
	binary.LittleEndian.PutUint64(page, id)
	binary.LittleEndian.PutUint16(page[8:], 2)
	binary.LittleEndian.PutUint16(page[10:], 1)
	binary.LittleEndian.PutUint32(page[20:], 16) // where the key lies, seen from its element
	binary.LittleEndian.PutUint32(page[24:], 17)
	copy(page[32:], key(int64(id), 0, false))
}

func BenchmarkParse(b *testing.B) {
	page := make([]byte, 4096)
	head := read(b, randomDatabase(b, rand.New(rand.NewPCG(1, 1))))[:8192]
	b.SetBytes(64 << 20)
	for b.Loop() {
		var p boltstream.Parser
		_, _ = p.Write(head)
		for id := uint64(2); id < 64<<20/4096; id++ {
			leaf(page, id)
			_, _ = p.Write(page)
		}
	}
}

// parse writes the content in pieces of any size.
func parse(content []byte, random *rand.Rand) (boltstream.Facts, error) {
	var p boltstream.Parser
	for len(content) > 0 {
		n := min(len(content), 1+random.IntN(1<<random.IntN(18)))
		_, _ = p.Write(content[:n])
		content = content[n:]
	}
	return p.Facts()
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
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
