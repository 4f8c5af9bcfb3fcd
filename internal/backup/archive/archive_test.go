// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive/boltstream"
)

func TestReadsWhatWasWritten(t *testing.T) {
	recipient, identity := newKey(t)
	second, _ := newKey(t)
	database, revision := makeDatabase(t, 1, 300)
	tests := []struct {
		name       string
		partSize   int
		recipients []string
		identity   []byte
	}{
		{"one part", 0, nil, nil},
		{"many parts", 4 << 10, nil, nil},
		{"encrypted", 64 << 10, []string{recipient}, identity},
		{"encrypted to two", 100, []string{second, recipient}, identity},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := newMemory()
			m := backup(t, store, "a1", database, test.partSize, test.recipients...)
			if m.Revision != revision || m.Etcd.StorageVersion != "3.6.0" || m.Database.Size != int64(len(database)) {
				t.Errorf("the manifest says %+v", m)
			}
			if m.StartedAt != today || m.FinishedAt != today.Add(time.Minute) {
				t.Errorf("from %s to %s", m.StartedAt, m.FinishedAt)
			}
			if test.partSize > 0 && len(m.Parts) != (int(m.StoredBytes)+test.partSize-1)/test.partSize {
				t.Errorf("%d parts for %d bytes", len(m.Parts), m.StoredBytes)
			}
			if got := must(restore(t.Context(), store, folder("a1"), test.identity))(t); !bytes.Equal(got, database) {
				t.Error("another database came back")
			}
		})
	}
}

// A database that does not change gives the same objects again: a Write that is repeated succeeds.
func TestSameDatabaseIsSameObjects(t *testing.T) {
	store := newMemory()
	database, _ := makeDatabase(t, 1, 100)
	first, second := backup(t, store, "a1", database, 1<<12), backup(t, store, "a1", database, 1<<12)
	if !slices.Equal(first.Parts, second.Parts) {
		t.Error("the parts differ")
	}
}

// However slow the store is, two parts are on their way, and one is filled.
func TestMemoryIsBounded(t *testing.T) {
	const size = 4 << 10
	database, _ := makeDatabase(t, 1, 400)
	synctest.Test(t, func(t *testing.T) {
		store := newMemory()
		store.slow = make(chan struct{})
		source := &counting{source: bytes.NewReader(snapshotOf(database))}
		done := make(chan error)
		go func() {
			_, err := archive.Write(t.Context(), store, source, job("a1", size))
			done <- err
		}()
		synctest.Wait()
		if store.mostSending != 2 {
			t.Errorf("%d parts on their way, want 2", store.mostSending)
		}
		// Three parts, and what is read ahead: blocks of zstd and buffers.
		if limit := 3*size + (512 << 10); source.read > limit {
			t.Errorf("%d bytes were read while the store took none, limit %d", source.read, limit)
		}
		close(store.slow)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if store.mostSending != 2 || store.mostHeld > 2*size {
			t.Errorf("%d parts with %d bytes were on their way", store.mostSending, store.mostHeld)
		}
	})
}

type counting struct {
	source io.Reader
	read   int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.source.Read(p)
	c.read += n
	return n, err
}

func TestProgressRisesToTheEnd(t *testing.T) {
	store := newMemory()
	database, _ := makeDatabase(t, 1, 200)
	content := snapshotOf(database)
	j := job("a1", 8<<10)
	j.Total = int64(len(content))
	var told []archive.Progress
	j.Progress = func(p archive.Progress) { told = append(told, p) }
	m := must(archive.Write(t.Context(), store, bytes.NewReader(content), j))(t)
	for i := range told[1:] {
		if a, b := told[i], told[i+1]; b.Read < a.Read || b.Parts < a.Parts || b.Stored < a.Stored {
			t.Errorf("progress goes back from %+v to %+v", a, b)
		}
	}
	want := archive.Progress{Read: j.Total, Total: j.Total, Parts: len(m.Parts), Stored: m.StoredBytes}
	if last := told[len(told)-1]; last != want {
		t.Errorf("at last %+v, want %+v", last, want)
	}

	told = nil
	reader := must(archive.Open(t.Context(), store, m, nil, j.Progress))(t)
	_ = must(io.ReadAll(reader))(t)
	_ = reader.Close() // it has no error
	want.Read, want.Total = m.Database.Size, m.Database.Size
	if last := told[len(told)-1]; last != want {
		t.Errorf("of reading at last %+v, want %+v", last, want)
	}
}

// A snapshot that is not what etcd sent becomes no backup, and what is in the store then does not even look like one.
func TestBadSnapshotIsNoBackup(t *testing.T) {
	database, _ := makeDatabase(t, 1, 300)
	whole := snapshotOf(database)
	broken := errors.New("connection broken")
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	tests := []struct {
		name   string
		source io.Reader
		total  int64
		want   error // nil: a CorruptError
	}{
		{"nothing", bytes.NewReader(nil), 0, archive.ErrNoHash},
		{"no sum", bytes.NewReader(database), 0, archive.ErrNoHash},
		{"cut in the sum", bytes.NewReader(whole[:len(whole)-1]), 0, archive.ErrTruncated},
		{"cut in the middle", bytes.NewReader(whole[:len(whole)/2+7]), 0, archive.ErrTruncated},
		{"cut where a sum may be", bytes.NewReader(whole[:8192*4+32]), 0, nil},
		{"one bit", bytes.NewReader(flipped), 0, nil},
		{"another sum", bytes.NewReader(append(bytes.Clone(database), make([]byte, 32)...)), 0, nil},
		{"less than announced", bytes.NewReader(whole), int64(len(whole)) + 512, archive.ErrTruncated},
		{"more than announced", bytes.NewReader(whole), int64(len(whole)) - 512, archive.ErrTooLarge},
		{"connection breaks", io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), failing{broken}), 0, broken},
		{"no database", bytes.NewReader(snapshotOf(make([]byte, 1<<16))), 0, boltstream.ErrNotBolt},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := newMemory()
			j := job("a1", 4<<10)
			j.Total = test.total
			_, err := archive.Write(t.Context(), store, test.source, j)
			var bad *archive.CorruptError
			if test.want == nil && !errors.As(err, &bad) || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			looksTorn(t, store)
		})
	}
}

var errAny = errors.New("any")

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// looksTorn: there is no manifest, and the parts are no whole stream.
func looksTorn(t *testing.T, store *memory) {
	t.Helper()
	if _, err := archive.ReadManifest(t.Context(), store, folder("a1")); err == nil {
		t.Error("there is a manifest")
	}
	var parts bytes.Buffer
	for n := range len(store.objects) {
		parts.Write(store.objects[folder("a1").Object(archive.PartName(n))])
	}
	decoder := must(zstd.NewReader(&parts))(t)
	defer decoder.Close()
	if got, err := io.ReadAll(decoder); err == nil && len(got) > 0 {
		t.Error("the parts are a stream that was ended well")
	}
}

func TestJobsThatAreRefused(t *testing.T) {
	classic, _ := newKey(t)
	database, _ := makeDatabase(t, 1, 1)
	tests := []struct {
		name   string
		change func(*archive.Job)
	}{
		{"no ID", func(j *archive.Job) { j.Manifest.ID = "" }},
		{"a folder above", func(j *archive.Job) { j.Manifest.ID = ".." }},
		{"another folder", func(j *archive.Job) { j.Manifest.Namespace = "a/b" }},
		{"no recipient", func(j *archive.Job) { j.Recipients = []string{"age1nobody"} }},
		{"two recipients in one text", func(j *archive.Job) { j.Recipients = []string{classic + "\n" + classic} }},
		{"parts that are too large", func(j *archive.Job) { j.PartSize = archive.MaxPartSize + 1 }},
		{"keys that nobody can count", func(j *archive.Job) {
			j.Complete = func(context.Context, *archive.Manifest) error { return errAny }
		}},
	}
	for _, test := range tests {
		store, j := newMemory(), job("a1", 0)
		test.change(&j)
		if _, err := archive.Write(t.Context(), store, bytes.NewReader(snapshotOf(database)), j); err == nil {
			t.Errorf("%s: no error", test.name)
		}
		for name := range store.objects {
			if strings.HasSuffix(name, "manifest.json") {
				t.Errorf("%s: there is %s", test.name, name)
			}
		}
	}
}

// What is known only of the revision is asked when all parts are in the store, and is in the manifest.
func TestManifestIsCompleted(t *testing.T) {
	database, revision := makeDatabase(t, 1, 50)
	store, j := newMemory(), job("a1", 4<<10)
	j.Complete = func(_ context.Context, m *archive.Manifest) error {
		if m.Revision != revision || len(store.objects) != len(m.Parts) {
			t.Errorf("asked at revision %d with %d parts in the store of %d", m.Revision, len(store.objects), len(m.Parts))
		}
		keys := int64(50)
		m.Keys, m.HashKV = &keys, &archive.HashKV{Hash: 7, Revision: m.Revision}
		return nil
	}
	_ = must(archive.Write(t.Context(), store, bytes.NewReader(snapshotOf(database)), j))(t)
	m := must(archive.ReadManifest(t.Context(), store, folder("a1")))(t)
	if m.Keys == nil || *m.Keys != 50 || m.HashKV.Hash != 7 {
		t.Errorf("the manifest says %+v", m)
	}
}

func TestCloseEndsWhatIsOnItsWay(t *testing.T) {
	database, _ := makeDatabase(t, 1, 100)
	store := newMemory()
	m := backup(t, store, "a1", database, 1<<12)
	synctest.Test(t, func(t *testing.T) {
		reader := must(archive.Open(t.Context(), store, m, nil, nil))(t)
		_, _ = reader.Read(make([]byte, 10)) // a part is fetched behind it
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	})
}
