// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive/boltstream"
)

// Program is one that makes backups of etcd.
type Program string

// The programs whose backups can be read. Their names and contents are those of coreos/etcd-operator v0.9.4,
// pkg/backup, and of gardener/etcd-backup-restore, pkg/snapstore and pkg/compressor.
const (
	Etcdctl           Program = "etcdctl"
	EtcdOperator      Program = "coreos/etcd-operator"
	EtcdBackupRestore Program = "gardener/etcd-backup-restore"
)

// Foreign is a backup of another program: a snapshot of etcd's in one object.
type Foreign struct {
	Object   Object
	Program  Program
	Packing  Packing
	Revision int64     // by its name; 0 if the name does not say
	Taken    time.Time // by its name; zero if the name does not say
	// NoHash says that etcd's sha256 is missing, by the size. What is compressed shows it when it is read.
	NoHash bool
	// Incomplete says that the end of a plain snapshot is missing, by the size that the database says it has.
	Incomplete bool
	// LaterRevision is that up to which etcd-backup-restore has increments, which are not read: what was
	// written after Revision is not in the snapshot. 0: there are none.
	LaterRevision int64
}

var (
	// etcd-backup-restore: <prefix>/v2/Full-<first>-<last revision>-<unix time>[compression][.final], and
	// v1/Backup-<unix time>/Full-… before.
	gardenerName = regexp.MustCompile(`(?:^|/)v[12]/(?:Backup-\d+/)?(Full|Incr)-(\d{8,})-(\d{8,})-(\d+)(?:\.gz|\.zlib|\.Z)?(?:\.final)?$`)

	// etcd-operator: <path>_v<revision>_<time>. Sorted by name, v9 comes after v10.
	coreosName = regexp.MustCompile(`_v(\d+)_(\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d)$`)

	// What etcdctl wrote has any name.
	anyName = regexp.MustCompile(`(?i)\.(db|snap|snapshot|backup|etcd|bak|gz|zlib|z)$`)
)

const coreosTime = "2006-01-02-15:04:05"

// guessByName says what an object may be. Only that is opened.
func guessByName(object Object) (Foreign, bool) {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == '\\' }
	if !fs.ValidPath(object.Name) || strings.ContainsFunc(object.Name, odd) {
		return Foreign{}, false // no store opens it
	}
	if m := gardenerName.FindStringSubmatch(object.Name); m != nil {
		seconds, _ := strconv.ParseInt(m[4], 10, 64) // digits by the pattern; too many are no time
		last, _ := strconv.ParseInt(m[3], 10, 64)
		return Foreign{Object: object, Program: EtcdBackupRestore, Revision: last, Taken: time.Unix(seconds, 0).UTC()}, m[1] == "Full"
	}
	if m := coreosName.FindStringSubmatch(object.Name); m != nil {
		revision, _ := strconv.ParseInt(m[1], 10, 64)
		taken, _ := time.Parse(coreosTime, m[2])
		return Foreign{Object: object, Program: EtcdOperator, Revision: revision, Taken: taken}, true
	}
	// Below the folder of this format, nothing is another program's.
	if strings.HasPrefix(object.Name, root) && strings.Count(object.Name, "/") >= 4 || object.Size < smallestSnapshot {
		return Foreign{}, false
	}
	rest := object.Size % hashAlignment
	return Foreign{Object: object, Program: Etcdctl}, anyName.MatchString(object.Name) || rest == hashSize || rest == 0
}

// smallestSnapshot in bytes: a compressed one with nothing in it.
const smallestSnapshot = 128

// parseIncrement returns the last revision of an increment of etcd-backup-restore.
func parseIncrement(name string) (last int64, ok bool) {
	m := gardenerName.FindStringSubmatch(name)
	if m == nil || m[1] != "Incr" {
		return 0, false
	}
	last, err := strconv.ParseInt(m[3], 10, 64)
	return last, err == nil
}

// recognise looks at the first bytes of an object: its name alone proves nothing.
func recognise(ctx context.Context, store Store, f Foreign) (Foreign, error) {
	if f.Object.Size < smallestSnapshot {
		return f, nil
	}
	head, err := store.Head(ctx, f.Object.Name, headSize)
	if err != nil {
		return f, err
	}
	f.Packing = packingOf(head, path.Ext(strings.TrimSuffix(f.Object.Name, ".final")) == ".Z")
	f.NoHash = f.hasNoHash()
	f.Incomplete = f.Packing == Plain && f.isIncomplete(head)
	return f, nil
}

func (f Foreign) hasNoHash() bool {
	return f.Packing == Plain && f.Object.Size%hashAlignment != hashSize
}

// isIncomplete compares the size of a plain snapshot with that of its database, which etcd writes as whole pages.
func (f Foreign) isIncomplete(head []byte) bool {
	size := f.Object.Size
	if !f.hasNoHash() {
		size -= hashSize
	}
	return size%hashAlignment != 0 || size < boltstream.Size(head)
}

// FindForeign says what the backup of another program with that name is. It is ErrForeign if the object is no
// database, and an fs.ErrNotExist if it is not there.
func FindForeign(ctx context.Context, store Store, name string) (Foreign, error) {
	folder := ""
	if at := strings.LastIndex(name, "/"); at >= 0 {
		folder = name[:at+1]
	}
	for object, err := range store.List(ctx, folder) {
		if err != nil {
			return Foreign{}, fmt.Errorf("look for %s: %w", name, err)
		}
		if object.Name == name {
			return identify(ctx, store, object)
		}
	}
	return Foreign{}, fmt.Errorf("look for %s: %w", name, fs.ErrNotExist)
}

func identify(ctx context.Context, store Store, object Object) (Foreign, error) {
	found, ok := guessByName(object)
	if ok {
		var err error
		if found, err = recognise(ctx, store, found); err != nil {
			return Foreign{}, fmt.Errorf("look at %s: %w", object.Name, err)
		}
	}
	if found.Packing == notDatabase {
		return Foreign{}, fmt.Errorf("%s: %w, nor a snapshot of etcd", object.Name, ErrForeign)
	}
	return found, nil
}

// headSize in bytes: both meta pages of a database, whatever the size of its pages.
const headSize = 2 << 16

// ForeignOptions are how to read a backup of another program.
type ForeignOptions struct {
	// MaxSize is how many bytes the database may have: what there is room for. It must be set.
	MaxSize int64
	// WithoutHash takes a snapshot that does not end with etcd's sha256, such as a copy of a file in a data directory. Then
	// it cannot be checked whether it is whole. A sum that is there must be right even so.
	WithoutHash bool
}

// OpenForeign is the database of a backup of another program. What it gives is good only once it has ended with
// io.EOF, which etcd's sha256 decides. It is ErrForeign if the object is no database.
func OpenForeign(ctx context.Context, store Store, f Foreign, options ForeignOptions) (*ForeignDatabase, error) {
	stream, err := store.Open(ctx, f.Object.Name)
	if err != nil {
		return nil, err
	}
	unpacked, err := f.Packing.unpack(&stored{stream})
	if err != nil {
		return nil, errors.Join(unpacking(err), stream.Close())
	}
	database := newSnapshot(&atMost{source: unpacked, left: options.MaxSize + hashSize})
	database.maySkip = options.WithoutHash
	return &ForeignDatabase{database: database, stream: stream}, nil
}

// ForeignDatabase reads the database of a backup of another program.
type ForeignDatabase struct {
	database *snapshot
	stream   io.Closer
}

// HasNoHash says, once all of it was read, whether etcd's sha256 was missing.
func (r *ForeignDatabase) HasNoHash() bool { return r.database.missing }

// Read is that of an io.Reader.
func (r *ForeignDatabase) Read(p []byte) (int, error) {
	n, err := r.database.Read(p)
	return n, unpacking(err)
}

// unpacking distinguishes what is wrong with the content from what is wrong with the store: a connection that broke is no cut snapshot.
func unpacking(err error) error {
	var broken *storeError
	var torn flate.CorruptInputError
	switch {
	case errors.As(err, &broken):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrTruncated
	case errors.As(err, &torn), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader),
		errors.Is(err, zlib.ErrChecksum), errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrDictionary):
		return corrupt("database", "it cannot be unpacked: %v", err)
	}
	return err
}

// stored marks the errors of a store.
type stored struct{ source io.Reader }

func (s *stored) Read(p []byte) (int, error) {
	n, err := s.source.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &storeError{err}
	}
	return n, err
}

// Close ends the stream of the store.
func (r *ForeignDatabase) Close() error { return r.stream.Close() }

// atMost fails when more comes than there is room for.
type atMost struct {
	source io.Reader
	left   int64
}

func (a *atMost) Read(p []byte) (int, error) {
	n, err := a.source.Read(p[:min(int64(len(p)), a.left+1)])
	if a.left -= int64(n); a.left < 0 {
		return 0, ErrTooLarge
	}
	return n, err
}
