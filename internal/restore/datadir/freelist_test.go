// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// TestCompletingReadsLittle: to write, bbolt reads every page of a database without a list of free ones. Here all pages of the keys but
// those on the way to the last one are worth nothing, and nothing falls over them.
func TestCompletingReadsLittle(t *testing.T) {
	db := content(t, many(t))
	m := must(newestMeta(bytes.NewReader(db)))(t)
	o := options(t, db)
	o.Proven = true
	spoilt := 0
	for id := int64(firstPage); id < int64(m.pages); id++ {
		spoiltHere := bytes.Clone(db)
		clear(spoiltHere[id*m.pageSize:][:m.pageSize])
		path := write(t, spoiltHere)
		if verifyPages(t.Context(), path) == nil {
			continue // it is free
		}
		if c := must(newCluster(o.InitialCluster, o.Token))(t); completes(path, o, c) {
			spoilt++
		}
	}
	if spoilt < 100 {
		t.Errorf("only %d pages need not be read", spoilt)
	}
}

// completes says whether a damaged database could be completed: that the damage is met is no fault here.
func completes(path string, o Options, c cluster) (ok bool) {
	defer func() { ok = recover() == nil && ok }()
	return complete(path, o, c) == nil
}

// TestNoPageIsLost: what is free in a database is found again by the next process that opens it, and nothing of it is in use.
func TestNoPageIsLost(t *testing.T) {
	for name, path := range map[string]string{"of etcd's": many(t), "with a list of free pages": withFreelist(t)} {
		for _, proven := range []bool{false, true} {
			db := content(t, path)
			o := options(t, db)
			o.Proven, o.BumpRevision, o.MarkCompacted = proven, 10, true
			makes(t, o, db)
			if err := Check(t.Context(), databaseOf(o), func(fault error) { t.Errorf("%s: %v", name, fault) }); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if m := must(newestMeta(bytes.NewReader(content(t, databaseOf(o)))))(t); m.freelist != noFreelist {
				t.Errorf("%s: page %d is the list of free pages", name, m.freelist)
			}
			before, after := freePages(t, path), freePages(t, databaseOf(o))
			if after < before {
				t.Errorf("%s: %d pages were free, and %d are", name, before, after)
			}
		}
	}
}

func freePages(t *testing.T, path string) int {
	t.Helper()
	db := must(bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true, ReadOnly: true, PreLoadFreelist: true}))(t)
	defer db.Close() //nolint:errcheck // it was only read
	return db.Stats().FreePageN
}

// TestProvenIsNotHashed: its stream says whether all of it is right. How much there is of it is compared as ever.
func TestProvenIsNotHashed(t *testing.T) {
	db := content(t, many(t))
	o := options(t, db)
	o.Proven, o.SHA256 = true, [32]byte{}
	broken := errors.New("broken")
	for name, stream := range map[string]io.Reader{
		"too short": bytes.NewReader(db[:len(db)-1]), "too long": io.MultiReader(bytes.NewReader(db), strings.NewReader("x")),
		"broken": io.MultiReader(bytes.NewReader(db), failing{broken}), "no database": strings.NewReader(strings.Repeat("x", len(db))),
	} {
		err := Make(t.Context(), o, stream)
		if !as[*SizeError](err) && !as[*DamagedError](err) && !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
		nothing(t, o.Folder)
	}
	makes(t, o, db)
}

// TestDamageIsMetUnlessProven: a damaged page whose sum is right was damaged in etcd.
func TestDamageIsMetUnlessProven(t *testing.T) {
	db := bytesReplace(t, content(t, many(t)), revisionName(300), revisionName(9))
	o := options(t, db)
	if err := Make(t.Context(), o, bytes.NewReader(db)); !as[*DamagedError](err) {
		t.Error(err)
	}
	nothing(t, o.Folder)
}

// TestAheadSaysHowAStreamEnds: an error comes after what was read before it, and is the stream's own.
func TestAheadSaysHowAStreamEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, broken} {
		for _, size := range []int{0, 1, buffer - 1, buffer, buffer + 1, 7*buffer + 5} {
			text := strings.Repeat("x", size)
			in := readAhead(io.MultiReader(strings.NewReader(text), failing{end}))
			var got int
			var err error
			for err == nil {
				var chunk []byte
				chunk, err = in.next()
				got += len(chunk)
			}
			in.end()
			if got != size || !errors.Is(err, end) {
				t.Errorf("%d bytes and %v: got %d and %v", size, end, got, err)
			}
		}
	}
}

// TestAheadEndsEarly, and reads nothing afterwards.
func TestAheadEndsEarly(t *testing.T) {
	for range 100 {
		stream := &counting{}
		in := readAhead(stream)
		_, _ = in.next() // it never ends
		in.end()
		if after := stream.reads; after > 10*buffersAhead {
			t.Fatalf("it was read %d times", after)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type counting struct{ reads int }

func (c *counting) Read(p []byte) (int, error) {
	c.reads++
	return len(p), nil
}
