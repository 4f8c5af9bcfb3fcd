// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// Listing is what lies in a store, each sorted by name.
type Listing struct {
	Backups    []Entry   // folders with a manifest, which is not read yet
	Incomplete []Entry   // folders without, which have nothing but parts: the rest of an upload, or one that goes on
	Foreign    []Foreign // backups of other programs
	Unknown    int       // objects that are none of these

	// Waiting is how many objects may be backups of other programs and were not opened yet, and Unread how many could not be read.
	// What is among them is not in Foreign. Trouble is the error of one that could not be read now; nil if there was none.
	Waiting, Unread int
	Trouble         error
	Unseen          Names  // of both, 64000 at most
	Memory          Memory // what is known now of the objects that lie there
}

// Entry is one folder.
type Entry struct {
	Folder  Folder
	Objects int
	Bytes   int64     // of all its objects
	Newest  time.Time // when the newest of its objects was written, by the store's clock
}

// List looks at everything below a prefix: "" for all, or the start of the names of a namespace's or a cluster's
// folders. Segments of a log are left out. It opens some of what may be backups of other programs, and reads their first bytes. That one
// of these cannot be read is no error.
func List(ctx context.Context, store Store, prefix string, look Look) (Listing, error) {
	l := lister{later: map[string]int64{}, first: look.First.marks(), remembered: look.Memory.marks()}
	for object, err := range store.List(ctx, prefix) {
		if err != nil {
			return Listing{}, fmt.Errorf("list backups: %w", err)
		}
		if folder, name, ours := ParseName(object.Name); ours {
			l.ours(folder, name, object)
		} else if _, _, isLog := log.ParseName(object.Name); !isLog {
			l.strange(object)
		}
	}
	l.leave()
	if err := l.examine(ctx, store, look); err != nil {
		return Listing{}, fmt.Errorf("look for backups of other programs: %w", err)
	}
	return l.all, nil
}

// lister sorts objects as they come, which is by name: so those of a folder come together.
type lister struct {
	all        Listing
	current    Entry
	sealed     bool        // the current folder has a manifest
	mixed      bool        // the current folder has something that is neither that nor a part
	candidates []*examined // by their names
	first      map[string]struct{}
	remembered map[string]string
	later      map[string]int64 // the newest revision of increments, by folder
}

func (l *lister) ours(folder Folder, name string, object Object) {
	if folder != l.current.Folder {
		l.leave()
		l.current.Folder = folder
	}
	l.current.Objects++
	l.current.Bytes += object.Size
	if object.Modified.After(l.current.Newest) {
		l.current.Newest = object.Modified
	}
	l.sealed = l.sealed || name == manifestName
	l.mixed = l.mixed || name != manifestName && !IsPart(name)
}

// leave ends the current folder.
func (l *lister) leave() {
	switch {
	case l.current.Objects == 0:
	case l.sealed:
		l.all.Backups = append(l.all.Backups, l.current)
	case l.mixed:
		l.all.Unknown += l.current.Objects
	default:
		l.all.Incomplete = append(l.all.Incomplete, l.current)
	}
	l.current, l.sealed, l.mixed = Entry{}, false, false
}

func (l *lister) strange(object Object) {
	if last, ok := parseIncrement(object.Name); ok {
		folder := path.Dir(object.Name)
		l.later[folder] = max(l.later[folder], last)
	}
	if candidate, ok := guessByName(object); ok {
		l.consider(candidate)
		return
	}
	l.all.Unknown++
}

func (l *lister) foreign(found Foreign) {
	if found.Packing == notDatabase {
		l.all.Unknown++
		return
	}
	if last := l.later[path.Dir(found.Object.Name)]; found.Program == EtcdBackupRestore && last > found.Revision {
		found.LaterRevision = last
	}
	l.all.Foreign = append(l.all.Foreign, found)
}
