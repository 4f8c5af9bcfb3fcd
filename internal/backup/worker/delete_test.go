// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

func remove(sum string) jobspec.Order {
	return jobspec.Order{Verb: jobspec.Delete, Delete: &jobspec.DeleteOrder{Path: path, ManifestSHA256: sum}}
}

// Only the backup that is meant is deleted, with all that was ever written for it.
func TestDelete(t *testing.T) {
	w := newWorld(t)
	db := database(t, 3)
	m := w.backedUp("uid-1", db, func(j *archive.Job) { j.Manifest.Upload = "first" })
	w.put(path+"/second.000000.part", []byte("of another upload"))
	w.backedUp("uid-10", db, nil)
	if done := w.does(remove("of another backup")); !strings.Contains(done.Left, "its manifest is of another backup") {
		t.Errorf("it does not say that the backup stays: %q", done.Left)
	}
	if len(w.stored(path)) < 3 {
		t.Error("another backup than the one that was meant was deleted")
	}
	for range 2 { // it is success if nothing is there
		w.does(remove(m.SHA256))
		if left := w.stored(path); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	}
	if len(w.stored("v1/default/example/uid-10")) < 2 {
		t.Error("a backup whose name begins alike was deleted")
	}
}

// TestDeleteBeginsWithTheManifest: a Job that ends after its first step leaves no backup that names what is not there.
func TestDeleteBeginsWithTheManifest(t *testing.T) {
	w := newWorld(t)
	w.backedUp("uid-1", database(t, 3), nil)
	parts := len(w.stored(path)) - 1
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // which a volume looks at when it lists
	w.saysWithin(ctx, remove(""))
	if _, err := os.Stat(w.file(path + "/manifest.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the manifest is there: %v", err)
	}
	if left := w.stored(path); len(left) != parts {
		t.Errorf("it did more than its first step: %v is left", left)
	}
	w.does(remove(""))
	w.nothing(w.in.Folders.Volume + "/etcd/unfinished~")
}

func TestDeleteOfWhatIsTorn(t *testing.T) {
	for name, harm := range map[string]func(*world){
		"a deletion that was interrupted": func(w *world) { must(w, os.Remove(w.file(path+"/manifest.json"))) },
		"a manifest that is damaged":      func(w *world) { w.put(path+"/manifest.json", []byte("{}")) },
	} {
		for _, sum := range []string{"", "of the one that is meant"} {
			t.Run(name+" "+sum, func(t *testing.T) {
				w := newWorld(t)
				w.backedUp("uid-1", database(t, 3), nil)
				harm(w)
				if w.does(remove(sum)); len(w.stored(path)) > 0 {
					t.Errorf("%v is left", w.stored(path))
				}
			})
		}
	}
}

// TestDeleteOfNewerFormat: it is not known which backup it is.
func TestDeleteOfNewerFormat(t *testing.T) {
	w := newWorld(t)
	w.backedUp("uid-1", database(t, 3), nil)
	content, err := os.ReadFile(w.file(path + "/manifest.json"))
	must(t, err)
	w.put(path+"/manifest.json", []byte(strings.Replace(string(content), `"format": 1`, `"format": 3`, 1)))
	w.fails(remove("of the one that is meant"), jobspec.NewerFormat, true, "restore it by operator")
	if len(w.stored(path)) < 2 {
		t.Error("it was deleted")
	}
}

func TestDeleteOfAnotherProgram(t *testing.T) {
	w := newWorld(t)
	w.put("old/snapshot.db", []byte("content"))
	order := remove("")
	order.Delete.Path = "old/snapshot.db"
	for range 2 {
		w.does(order)
	}
	order.Delete.Path = "../snapshot.db"
	w.fails(order, jobspec.StoreFailed, false, "invalid")
}

// TestFault102DeleteOfReplacedSnapshot: what another program has written under the name of the snapshot that was tried stays, and that
// is said.
func TestFault102DeleteOfReplacedSnapshot(t *testing.T) {
	db := database(t, 3)
	tried := fmt.Sprintf("%x", sha256.Sum256(db))
	for name, test := range map[string]struct {
		content []byte
		stays   bool
	}{
		"the one that was tried": {snapshotOf(db), false},
		"the same, without sum":  {db, false},
		"another one":            {snapshotOf(database(t, 4)), true},
		"one that is cut":        {snapshotOf(db)[:len(db)/2+7], true},
		"no snapshot":            {bytes.Repeat([]byte("hello"), 1000), true},
	} {
		w := newWorld(t)
		w.put("old/snapshot.db", test.content)
		order := remove(tried)
		order.Delete.Path = "old/snapshot.db"
		done := w.does(order)
		if _, err := os.Stat(w.file("old/snapshot.db")); (err == nil) != test.stays {
			t.Errorf("%s: it is there: %t", name, err == nil)
		}
		if strings.Contains(done.Left, "old/snapshot.db stays: it is not the snapshot that was tried") != test.stays {
			t.Errorf("%s: it says %q", name, done.Left)
		}
		must(t, os.RemoveAll(w.file("old")))
		if done := w.does(order); done.Left != "" { // it is success if nothing is there
			t.Errorf("%s, gone: it says %q", name, done.Left)
		}
	}
}

// TestDeleteLeavesOthers: what lies beside a backup, and has no name of ours, is not the operator's to delete.
func TestDeleteLeavesOthers(t *testing.T) {
	w := newWorld(t)
	m := w.backedUp("uid-1", database(t, 3), func(j *archive.Job) { j.Manifest.Upload = "first" })
	w.put(path+"/notes.txt", []byte("of a person"))
	w.does(remove(m.SHA256))
	if left := w.stored(path); len(left) != 1 || !strings.HasSuffix(left[0], "notes.txt") {
		t.Errorf("%v is left", left)
	}
}
