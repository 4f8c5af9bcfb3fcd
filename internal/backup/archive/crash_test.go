// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
)

// Whichever call of a Write fails, and however, no manifest names what is not there.
func TestManifestNamesOnlyWhatIsThere(t *testing.T) {
	database, _ := makeDatabase(t, 1, 60)
	recipient, identity := newKey(t)
	whole := newMemory()
	calls := len(backup(t, whole, "a1", database, testPart, recipient).Parts) + 1
	refused := errors.New("refused")
	faults := []struct {
		name string
		plan func(store *memory, at int, stop context.CancelFunc)
	}{
		{"a call fails", func(store *memory, at int, _ context.CancelFunc) {
			store.before = func(n int, _ string) error { return when(n == at, refused) }
		}},
		{"all calls fail from then on", func(store *memory, at int, _ context.CancelFunc) {
			store.before = func(n int, _ string) error { return when(n >= at, refused) }
		}},
		{"an answer is lost", func(store *memory, at int, _ context.CancelFunc) {
			store.after = func(n int, _ string) error { return when(n == at, refused) }
		}},
		{"the process is told to end", func(store *memory, at int, stop context.CancelFunc) {
			store.before = func(n int, _ string) error {
				if n == at {
					stop()
				}
				return nil
			}
		}},
		{"a part is there with other content", func(store *memory, at int, _ context.CancelFunc) {
			store.objects[folder("a1").Object(archive.PartName(at-1))] = []byte("of an upload before")
		}},
	}
	for _, fault := range faults {
		sealed := 0
		for at := 1; at <= calls; at++ {
			ctx, stop := context.WithCancel(t.Context())
			store := newMemory()
			fault.plan(store, at, stop)
			_, err := archive.Write(ctx, store, bytes.NewReader(snapshotOf(database)), job("a1", testPart, recipient))
			stop()
			sealed += isTornOrWhole(t, fmt.Sprintf("%s, call %d", fault.name, at), store, identity, err)
		}
		t.Logf("%s: %d calls, each tried; %d manifests", fault.name, calls, sealed)
	}
}

// Two processes write the same backup, because it was not known that the first one still runs. One of them writes the
// manifest, and what it names is its own, whatever the other one writes or deletes of its own parts.
func TestTwoWritersOfOneBackup(t *testing.T) {
	ours, _ := makeDatabase(t, 1, 60)
	theirs, _ := makeDatabase(t, 2, 90)
	store := newMemory()
	named := func(upload string) archive.Job {
		j := job("a1", testPart)
		j.Manifest.Upload = upload
		return j
	}
	other := named("second")
	other.Complete = func(context.Context, *archive.Manifest) error { // the other one is at its last step
		_, err := archive.Write(t.Context(), store, bytes.NewReader(snapshotOf(ours)), named("first"))
		return err
	}
	if _, err := archive.Write(t.Context(), store, bytes.NewReader(snapshotOf(theirs)), other); err == nil {
		t.Error("both say that the backup is theirs")
	}
	for name := range store.objects {
		if strings.HasPrefix(name, folder("a1").Object("second.")) {
			delete(store.objects, name)
		}
	}
	if got := must(restore(t.Context(), store, folder("a1"), nil))(t); !bytes.Equal(got, ours) {
		t.Error("the backup is not that of the one that wrote the manifest")
	}
	if _, err := archive.Write(t.Context(), store, bytes.NewReader(nil), named("a/b")); err == nil {
		t.Error("an upload has a name that leads out of its folder")
	}
}

// The source may end at any byte.
func TestSourceFailsAnywhere(t *testing.T) {
	database, _ := makeDatabase(t, 1, 40)
	content := snapshotOf(database)
	broken := errors.New("member is gone")
	for at := 0; at < len(content); at += 997 {
		store := newMemory()
		source := io.MultiReader(bytes.NewReader(content[:at]), failing{broken})
		_, err := archive.Write(t.Context(), store, source, job("a1", testPart))
		if !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", at, err)
		}
		looksTorn(t, store)
	}
}

func when(so bool, err error) error {
	if so {
		return err
	}
	return nil
}

// isTornOrWhole says how many manifests there are, whose backups must be whole.
func isTornOrWhole(t *testing.T, what string, store *memory, identity []byte, err error) int {
	t.Helper()
	store.before, store.after = nil, nil
	m, missing := archive.ReadManifest(t.Context(), store, folder("a1"))
	if missing != nil {
		if err == nil {
			t.Errorf("%s: no error, but no manifest", what)
		}
		return 0
	}
	for _, part := range m.Parts {
		sum := sha256.Sum256(store.objects[folder("a1").Object(part.Name)])
		if hex.EncodeToString(sum[:]) != part.SHA256 {
			t.Errorf("%s: the manifest names %s, which is not there", what, part.Name)
		}
	}
	if _, err := restore(t.Context(), store, folder("a1"), identity); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return 1
}

// A deaf store continues to write when its context ends.
type deaf struct{ *memory }

func (d deaf) Put(ctx context.Context, name string, content []byte) error {
	return d.memory.Put(context.WithoutCancel(ctx), name, content)
}

// A process that is terminated while the manifest is completed makes no backup, whatever the store does.
func TestNoManifestAfterTheEnd(t *testing.T) {
	database, _ := makeDatabase(t, 1, 60)
	ctx, stop := context.WithCancel(t.Context())
	store, ends := newMemory(), job("a1", testPart)
	ends.Complete = func(context.Context, *archive.Manifest) error {
		stop()
		return nil
	}
	_, err := archive.Write(ctx, deaf{store}, bytes.NewReader(snapshotOf(database)), ends)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("want the end of the context, got %v", err)
	}
	if _, there := store.objects[folder("a1").Manifest()]; there {
		t.Error("there is a manifest")
	}
}
