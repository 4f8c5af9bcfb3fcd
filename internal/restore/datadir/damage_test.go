// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// TestDamageIsAnError: wherever a file is damaged, reading it ends with a fault, an error or a
// result, and never with the process. bbolt alone ends with a segmentation fault for many of these.
func TestDamageIsAnError(t *testing.T) {
	sound := content(t, many(t))
	m := must(newestMeta(bytes.NewReader(sound)))(t)
	sound = sound[:int64(m.pages)*m.pageSize] // without what was never used
	const tries = 500
	found := 0
	for seed := range uint64(tries) {
		random := rand.New(rand.NewPCG(seed, 2))
		path := write(t, damage(slices.Clone(sound), random))
		faults := 0
		err := Check(t.Context(), path, func(error) { faults++ })
		_, unreadable := Inspect(t.Context(), path, func(Progress) {})
		if err != nil || faults > 0 || unreadable != nil {
			found++
		}
	}
	if found < tries/3 {
		t.Errorf("only %d of %d were found", found, tries)
	}
	t.Logf("%d of %d were found; the others are in values, or in pages that are free", found, tries)
}

// many is a database of several levels, with overflowing pages and free ones.
func many(t *testing.T) string {
	t.Helper()
	return database(t, func(s etcdStore) {
		for i := range 400 {
			s.put(fmt.Sprint(i%150), string(make([]byte, 1+i*5)))
		}
		s.compactAt(t, 200)
		s.put("big", string(make([]byte, 50_000)))
	})
}

// damage changes some bytes of one page, or cuts the file.
func damage(db []byte, random *rand.Rand) []byte {
	const page = 4096
	at := random.IntN(len(db)/page) * page
	switch random.IntN(5) {
	case 0: // the header
		db[at+random.IntN(headerSize)] = byte(random.Uint32())
	case 1: // an element
		db[at+headerSize+random.IntN(10*elementSize)] ^= 1 << random.IntN(8)
	case 2: // all of it
		for i := range page {
			db[at+i] = byte(random.Uint32())
		}
	case 3: // another page in its place
		copy(db[at:at+page], db[random.IntN(len(db)/page)*page:])
	default:
		return db[:random.IntN(len(db))]
	}
	return db
}

func TestWhatIsNoDatabase(t *testing.T) {
	for name, content := range map[string][]byte{
		"nothing":      {},
		"a text":       []byte("this is a text"),
		"a long text":  make([]byte, 1<<16),
		"half a page":  small(t)[:2048],
		"half of one":  small(t)[:9000],
		"no buckets":   content(t, empty(t)),
		"without meta": content(t, withoutMeta(t)),
	} {
		if _, err := Inspect(t.Context(), write(t, content), func(Progress) {}); !as[*DamagedError](err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Inspect(t.Context(), "nowhere", func(Progress) {}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func empty(t *testing.T) string {
	t.Helper()
	path := t.TempDir() + "/db"
	edit(t, path, func(*bolt.Tx) error { return nil })
	return path
}

func withoutMeta(t *testing.T) string {
	t.Helper()
	path := database(t, func(s etcdStore) { s.put("a", "1") })
	edit(t, path, func(tx *bolt.Tx) error { return tx.DeleteBucket(bucketMeta) })
	return path
}

// TestBothFirstPagesAreLookedAt: bbolt writes them in turns, so that one may be torn.
func TestBothFirstPagesAreLookedAt(t *testing.T) {
	db := small(t)
	for _, torn := range []int{0, 4096} {
		one := slices.Clone(db)
		clear(one[torn : torn+4096])
		if err := verifyPages(t.Context(), write(t, one)); err != nil {
			t.Errorf("page at %d is torn: %v", torn, err)
		}
		clear(one[4096-torn : 8192-torn])
		if err := verifyPages(t.Context(), write(t, one)); !as[*DamagedError](err) {
			t.Errorf("both are torn: %v", err)
		}
	}
}

// TestOtherListsOfFreePages: etcd writes none, but a tool of bbolt may have.
func TestOtherListsOfFreePages(t *testing.T) {
	path := withFreelist(t)
	if err := Check(t.Context(), path, func(fault error) { t.Error(fault) }); err != nil {
		t.Error(err)
	}
	inspects(t, path)
}

func TestReadingEndsWithItsContext(t *testing.T) {
	path := many(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Inspect(ctx, path, func(Progress) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("inspect: %v", err)
	}
	if err := Check(ctx, path, func(error) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("check: %v", err)
	}
	scan := scan{ctx: ctx, read: func(int64) {}}
	endless := func() ([]byte, []byte) { return revisionName(1), nil }
	if err := scan.each(endless, endless, func(entry) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("scan: %v", err)
	}
}

// TestKeysMustBeInOrder: each page is sound by itself.
func TestKeysMustBeInOrder(t *testing.T) {
	for name, db := range map[string][]byte{
		"in a bucket that is one value": bytesReplace(t, small(t), revisionName(2), revisionName(9)),
		"in a bucket of many pages":     bytesReplace(t, content(t, many(t)), revisionName(300), revisionName(9)),
	} {
		if err := verifyPages(t.Context(), write(t, db)); !as[*DamagedError](err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFaultsOfBboltAreReported: a page that is in use is in the list of free ones, too.
func TestFaultsOfBboltAreReported(t *testing.T) {
	path := withFreelist(t)
	db := content(t, path)
	m := must(newestMeta(bytes.NewReader(db)))(t)
	list := db[int64(m.freelist)*m.pageSize:]
	if binary.NativeEndian.Uint16(list[10:]) == 0 {
		t.Fatal("no page is free")
	}
	binary.NativeEndian.PutUint64(list[headerSize:], m.root)
	faults := 0
	if err := Check(t.Context(), write(t, db), func(error) { faults++ }); err != nil || faults == 0 {
		t.Errorf("%d faults, %v", faults, err)
	}
}

// withFreelist is a database that another tool than etcd has opened.
func withFreelist(t *testing.T) string {
	t.Helper()
	path := many(t)
	db := must(bolt.Open(path, 0o600, &bolt.Options{}))(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func bytesReplace(t *testing.T, db, old, with []byte) []byte {
	t.Helper()
	db = slices.Clone(db)
	n := 0
	for i := range len(db) - len(old) {
		if slices.Equal(db[i:i+len(old)], old) {
			n += copy(db[i:], with)
		}
	}
	if n == 0 {
		t.Fatalf("%x is not there", old)
	}
	return db
}
