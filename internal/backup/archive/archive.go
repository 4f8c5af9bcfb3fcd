// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package archive is the format of a backup: an etcd database as parts that are never overwritten, and a manifest
// that comes last (docs/adr/0028-backups-are-parts-and-a-manifest.md).
//
//	snapshot of etcd → sha256 → zstd → age, if there are recipients → parts of 8 MiB
//
// What has a manifest is a backup, and what has none is the rest of one. Everything is checked twice: a part by
// its own sha256 before a byte of it is used, the database by etcd's sha256 at its end.
//
// The package must never write a manifest that names what is not in the store, never end a database without an
// error unless every byte is what etcd sent, never need a file, and never hold more than [PartsInMemory] parts, or one and
// [PartsAhead].
package archive

import (
	"context"
	"io"
	"iter"
	"time"
)

const (
	// Format is the version of the layout and of the manifest. One that has Recoveries is of the next: operators up to 0.9 do not know
	// them, and say that a newer one has to read it.
	Format           = 1
	formatRecoveries = 2

	// DefaultPartSize is small enough to be sent from memory by one request, and to be sent again as a whole;
	// a database of 8 GiB has about 300 parts then.
	DefaultPartSize = 8 << 20

	// MaxPartSize keeps a part below the 16 MiB from which on stores' libraries cut it into requests of their own.
	MaxPartSize = 15 << 20

	// PartsInMemory is how many parts a Write holds at most: one that is filled, and two on their way.
	PartsInMemory = 3

	// PartsAhead is how many parts are fetched while one is read. A store answers each after a while that has nothing to do with how
	// much it can send: three at a time keep what decodes them busy, and are as much memory as a Write needs.
	PartsAhead = 3

	// maxManifest is the largest manifest that is read, in bytes: that of some 100,000 parts.
	maxManifest = 16 << 20
)

// Store holds whole objects. Names are of a-z, 0-9, '/', '.', '_' and '-', except for foreign objects. All of it
// is safe for calls at the same time.
type Store interface {
	// Put creates an object. It is no error if the same content is there, and one if other content is. The
	// content is the caller's again when Put returns.
	Put(ctx context.Context, name string, content []byte) error
	// Open is a stream of an object. An object that is not there is an fs.ErrNotExist, here or in the first read.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Get is a small object. It is an error if the object has more than limit bytes, and an fs.ErrNotExist if
	// it is not there.
	Get(ctx context.Context, name string, limit int64) ([]byte, error)
	// Head is the first bytes of an object, or all of it if it has fewer. An object that is not there is an fs.ErrNotExist.
	Head(ctx context.Context, name string, bytes int64) ([]byte, error)
	// List is all objects whose names begin with the prefix, sorted by name. It ends after its first error.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]
}

// Object is one in a store.
type Object struct {
	Name     string
	Size     int64 // bytes
	Modified time.Time
}
