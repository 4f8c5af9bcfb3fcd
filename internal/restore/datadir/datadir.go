// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package datadir makes data directories of etcd members from a database, which is
// what a snapshot of etcd is, and says what is in such a database.
//
// It must never touch a data directory that is there, never leave one in its place
// that is not complete, and never open a database for writing that it did not write
// itself. It knows neither Kubernetes nor stores: a database is a stream or a file.
package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Options say which data directory to make of which database.
type Options struct {
	// Folder is where the volume is mounted. Name is the data directory below it.
	Folder, Name string
	// Member is the name of the member whose data directory it is, one of InitialCluster.
	Member string
	// InitialCluster has the peer URL of each member by its name. All members start as voters.
	InitialCluster map[string]string
	// Token is the initial cluster token. It makes the cluster another one than all others with
	// the same peer URLs: give each restore its own.
	Token string
	// Minor is the minor version of the etcd that will run the member, such as 3.6. It must not
	// be older than the database (docs/adr/0029).
	Minor string

	// Size is the length of the stream, in bytes. SHA256 is the sum of the database as etcd
	// computes it. Where Size modulo 512 is 32, the stream ends with etcd's own sum, as a
	// snapshot does: that is checked, too, and does not get into the data directory.
	Size   int64
	SHA256 [32]byte
	// OwnSum says that nothing but etcd's own sum is known: the stream must end with it, and SHA256 is not compared. It is for a snapshot
	// that an etcd beside it sends right now.
	OwnSum bool

	// BumpRevision is added to the revision of the database; see Bump. 0 leaves it. MarkCompacted
	// makes etcd compact at the new revision, so that watchers have to list again. Either
	// needs the other, as with etcdutl.
	BumpRevision  int64
	MarkCompacted bool
	// DropNoSpaceAlarm removes NOSPACE alarms: they belong to members that are gone.
	DropNoSpaceAlarm bool
	// Proven says that all pages of this very database were checked before, because a trial has restored it, and that the stream checks
	// all of its bytes as it is read: archive.Reader compares each part with its sha256 in the manifest, and what they unpack to with the
	// checksum of zstd. Pages and SHA256 are not checked again then. The size is.
	Proven bool
	// DisableAuth turns authentication off, so that every client of the member may read all of it: for trials that are thrown away.
	DisableAuth bool
	// Log is replayed onto the database, before the revision is bumped; nil: there is none.
	Log *Log `json:"-"`
}

// Make makes the data directory of one member. The data directory appears complete, by a
// rename, after all that is in it has been synced; up to then the work is in the folder
// "restoring" beside it, where Make begins again if it was interrupted. If the data directory
// that these options describe is there already, Make succeeds without doing anything, also
// when etcd has run on it since.
//
// Errors to be compared: *ExistsError, *BusyError, *RoomError, *SizeError, *HashError,
// *DamagedError, *VersionError, *CorruptError, and of a log *SequenceError and *DifferentError. After any of them there is no data
// directory that was not there before. The context ends the stream; what follows takes seconds.
func Make(ctx context.Context, o Options, database io.Reader) error {
	return create(ctx, o, database, func(string) {})
}

// create reports which step comes next and which one is done, so that a test can end the
// process there.
func create(ctx context.Context, o Options, database io.Reader, reached func(step string)) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	wanted, err := newCluster(o.InitialCluster, o.Token)
	if err != nil {
		return err
	}
	work, err := begin(o.Folder, reached)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, work.end()) }()

	mark := newMarker(o, wanted)
	if done, err := work.exists(o.Name, mark); done || err != nil {
		return err
	}
	if err := work.empty(o.Size + o.Log.room() + overhead); err != nil {
		return err
	}
	return work.fill(ctx, o, wanted, mark, database)
}

// fill makes the data directory in the working folder, and puts it in its place.
func (w *stagingDir) fill(ctx context.Context, o Options, c cluster, mark marker, database io.Reader) error {
	made := filepath.Join(w.path, o.Name)
	folder := filepath.Join(made, "member", "snap")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("make data directory: %w", err)
	}
	path := filepath.Join(folder, "db")
	if err := receive(ctx, path, o, database); err != nil {
		return err
	}
	w.reached("database written")
	if !o.Proven {
		if err := verifyPages(ctx, path); err != nil {
			return err
		}
	}
	if o.Log != nil {
		if err := o.Log.replay(ctx, path); err != nil {
			return err
		}
		w.reached("log replayed")
	}
	if err := complete(path, o, c); err != nil {
		return err
	}
	w.reached("database completed")
	if err := writeLog(filepath.Join(made, "member"), o.Member, c); err != nil {
		return err
	}
	w.reached("log written")
	if err := mark.write(made); err != nil {
		return err
	}
	return w.install(o.Name)
}

func (o Options) validate() error {
	_, minor := minorOf(o.Minor)
	_, listed := o.InitialCluster[o.Member]
	switch {
	case o.Name != filepath.Base(o.Name) || o.Name == "." || o.Name == ".." || o.Name == restoring:
		return fmt.Errorf("validate options: %q cannot be the name of a data directory", o.Name)
	case !listed:
		return fmt.Errorf("validate options: member %q is not in the initial cluster", o.Member)
	case !minor:
		return fmt.Errorf("validate options: %q is no minor version of etcd, such as 3.6", o.Minor)
	case o.Size <= 0:
		return fmt.Errorf("validate options: a database cannot have %d bytes", o.Size)
	case o.OwnSum && databaseSize(o.Size) == o.Size:
		return fmt.Errorf("validate options: a stream of %d bytes does not end with etcd's sum", o.Size)
	case o.OwnSum && o.Proven:
		return errors.New("validate options: a database of which only its own sum is known was not proven")
	case o.BumpRevision < 0:
		return fmt.Errorf("validate options: the revision cannot be bumped by %d", o.BumpRevision)
	case (o.BumpRevision > 0) != o.MarkCompacted:
		return errors.New("validate options: a revision is bumped and marked as compacted, or neither")
	}
	return nil
}
