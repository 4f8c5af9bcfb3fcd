// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"compress/gzip"
	"compress/lzw"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"
	"testing/iotest"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// packed is a snapshot as etcd-backup-restore compresses it.
func packed(t *testing.T, packing archive.Packing, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch packing {
	case archive.Gzip:
		w = gzip.NewWriter(&out)
	case archive.Zlib:
		w = zlib.NewWriter(&out)
	case archive.LZW:
		w = lzw.NewWriter(&out, lzw.LSB, 8)
	default:
		return content
	}
	_ = must(w.Write(content))(t)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestListsWhatLiesInStore(t *testing.T) {
	store := newMemory()
	database, _ := makeDatabase(t, 1, 30)
	snapshot := snapshotOf(database)
	m := backup(t, store, "a1", database, testPart)
	backup(t, store, "a2", database, testPart)
	delete(store.objects, folder("a2").Manifest())
	others := map[string][]byte{
		"old/etcd.backup_v4711_2019-03-02-10:20:30":       snapshot,
		"seed/v2/Full-00000000-00000900-1700000000.gz":    packed(t, archive.Gzip, snapshot),
		"seed/v2/Full-00000000-00000950-1700000100":       snapshot,
		"seed/v2/Incr-00000951-00000999-1700000200.gz":    {0x1f, 0x8b},
		"seed2/v2/Full-00000000-00000901-1700000000.zlib": packed(t, archive.Zlib, snapshot),
		"seed3/v2/Full-00000000-00000902-1700000000.Z":    packed(t, archive.LZW, snapshot),
		"snapshot.db":                        snapshot,
		"copy-of-member-snap-db":             database,
		"readme.txt":                         []byte("hello"),
		"text.gz":                            packed(t, archive.Gzip, bytes.Repeat([]byte("no database"), 1000)),
		"torn/v2/Full-00000000-0000-1.gz":    {0x1f, 0x8b},
		"v1/shop/orders/a1/extra/object.txt": []byte("hello"),
	}
	for name, content := range others {
		store.objects[name] = content
	}
	got := must(archive.List(t.Context(), store, "", archive.Look{Most: 100}))(t)

	if len(got.Backups) != 1 || got.Backups[0].Folder != folder("a1") || got.Backups[0].Objects != len(m.Parts)+1 {
		t.Errorf("backups: %+v", got.Backups)
	}
	if len(got.Incomplete) != 1 || got.Incomplete[0].Folder != folder("a2") || got.Incomplete[0].Bytes != m.StoredBytes ||
		got.Incomplete[0].Newest.IsZero() {
		t.Errorf("torn: %+v", got.Incomplete)
	}
	unix := func(s int64) time.Time { return time.Unix(s, 0).UTC() }
	want := []archive.Foreign{
		{Program: archive.Etcdctl, Packing: archive.Plain, NoHash: true},
		{
			Program: archive.EtcdOperator, Packing: archive.Plain, Revision: 4711,
			Taken: time.Date(2019, 3, 2, 10, 20, 30, 0, time.UTC),
		},
		{Program: archive.EtcdBackupRestore, Packing: archive.Gzip, Revision: 900, Taken: unix(1700000000), LaterRevision: 999},
		{Program: archive.EtcdBackupRestore, Packing: archive.Plain, Revision: 950, Taken: unix(1700000100), LaterRevision: 999},
		{Program: archive.EtcdBackupRestore, Packing: archive.Zlib, Revision: 901, Taken: unix(1700000000)},
		{Program: archive.EtcdBackupRestore, Packing: archive.LZW, Revision: 902, Taken: unix(1700000000)},
		{Program: archive.Etcdctl, Packing: archive.Plain},
	}
	if len(got.Foreign) != len(want) {
		t.Fatalf("foreign: %+v", got.Foreign)
	}
	for i, f := range got.Foreign {
		object := f.Object
		found := must(archive.FindForeign(t.Context(), store, object.Name))(t)
		if found.LaterRevision = f.LaterRevision; found != f {
			t.Errorf("%s is found as %+v, and listed as %+v", object.Name, found, f)
		}
		if f.Object = (archive.Object{}); f != want[i] {
			t.Errorf("%s: %+v, want %+v", object.Name, f, want[i])
		}
	}
	for _, name := range []string{"readme.txt", "text.gz", "v1/shop/orders/a1/extra/object.txt"} {
		if _, err := archive.FindForeign(t.Context(), store, name); !errors.Is(err, archive.ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := archive.FindForeign(t.Context(), store, "seed/v2/Full"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	if got.Unknown != 5 {
		t.Errorf("%d unknown, want readme.txt, text.gz, the torn one, the increment, and what lies too deep", got.Unknown)
	}

	for _, f := range got.Foreign {
		reader := must(archive.OpenForeign(t.Context(), store, f, archive.ForeignOptions{MaxSize: 1 << 20, WithoutHash: f.NoHash}))(t)
		if content := must(io.ReadAll(reader))(t); !bytes.Equal(content, database) {
			t.Errorf("%s: another database", f.Object.Name)
		}
		if err := reader.Close(); err != nil {
			t.Error(err)
		}
	}
}

// etcd's sum decides, also where a snapshot without one is accepted.
func TestForeignSnapshotsThatAreRefused(t *testing.T) {
	database, _ := makeDatabase(t, 1, 30)
	snapshot := snapshotOf(database)
	flipped := bytes.Clone(snapshot)
	flipped[5000] ^= 1
	gzipped := packed(t, archive.Gzip, snapshot)
	var bad *archive.CorruptError
	isCorrupt := func(err error) bool { return errors.As(err, &bad) }
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	cut := packed(t, archive.Gzip, snapshot[:8192])
	badSum := bytes.Clone(gzipped)
	badSum[len(badSum)-8]++ // the first byte of gzip's own sum
	tests := []struct {
		name    string
		packing archive.Packing
		content []byte
		options archive.ForeignOptions
		want    func(error) bool
	}{
		{"no sum", archive.Plain, database, archive.ForeignOptions{MaxSize: 1 << 20}, is(archive.ErrNoHash)},
		{"a bit", archive.Plain, flipped, archive.ForeignOptions{MaxSize: 1 << 20}, isCorrupt},
		{"a bit, and sums need not be", archive.Plain, flipped, archive.ForeignOptions{MaxSize: 1 << 20, WithoutHash: true}, isCorrupt},
		{"cut", archive.Plain, snapshot[:9000], archive.ForeignOptions{MaxSize: 1 << 20, WithoutHash: true}, is(archive.ErrTruncated)},
		{"cut, and ended well", archive.Gzip, cut, archive.ForeignOptions{MaxSize: 1 << 20}, is(archive.ErrNoHash)},
		{"torn gzip", archive.Gzip, gzipped[:len(gzipped)/2], archive.ForeignOptions{MaxSize: 1 << 20}, is(archive.ErrTruncated)},
		{"a bit of gzip", archive.Gzip, badSum, archive.ForeignOptions{MaxSize: 1 << 20}, isCorrupt},
		{"no room", archive.Gzip, gzipped, archive.ForeignOptions{MaxSize: 8192}, is(archive.ErrTooLarge)},
		{"no database", "", []byte("hello"), archive.ForeignOptions{MaxSize: 8192}, is(archive.ErrForeign)},
	}
	for _, test := range tests {
		store := newMemory()
		store.objects["a"] = test.content
		f := archive.Foreign{Object: archive.Object{Name: "a"}, Packing: test.packing}
		reader, err := archive.OpenForeign(t.Context(), store, f, test.options)
		if err == nil {
			_, err = io.ReadAll(reader)
		}
		if err == nil || !test.want(err) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestBrokenConnectionIsNoCutSnapshot: what a store fails to send says nothing of the snapshot.
func TestBrokenConnectionIsNoCutSnapshot(t *testing.T) {
	database, _ := makeDatabase(t, 1, 50)
	for _, packing := range []archive.Packing{archive.Plain, archive.Gzip} {
		store := &breaking{newMemory()}
		store.objects["a"] = packed(t, packing, snapshotOf(database))
		f := archive.Foreign{Object: archive.Object{Name: "a"}, Packing: packing}
		reader, err := archive.OpenForeign(t.Context(), store, f, archive.ForeignOptions{MaxSize: 1 << 20})
		if err == nil {
			_, err = io.ReadAll(reader)
		}
		if err == nil || errors.Is(err, archive.ErrTruncated) || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", packing, err)
		}
	}
}

// breaking is a store whose connections break in the middle of an object.
type breaking struct{ *memory }

func (b *breaking) Open(_ context.Context, name string) (io.ReadCloser, error) {
	content := b.objects[name]
	return io.NopCloser(io.MultiReader(bytes.NewReader(content[:len(content)/2]), iotest.ErrReader(io.ErrUnexpectedEOF))), nil
}
