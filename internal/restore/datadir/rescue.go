// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"go.etcd.io/etcd/server/v3/etcdserver/api/snap"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
)

// Position is how far the log of a member reaches. Of members that have stopped, the one with the highest term, and of these the one
// with the highest index, is the one that they would elect: if they are a majority, it has every write that was acknowledged.
type Position struct{ Term, Index uint64 }

// RunningError says that an etcd runs on a data directory.
type RunningError struct{ Folder string }

func (e *RunningError) Error() string {
	return fmt.Sprintf("an etcd runs on %s, and only the data of a member that has stopped can be copied", e.Folder)
}

// Rescue copies the data directory of a member that does not run to another folder, in which every entry of its log counts as committed. An
// etcd that is started on the copy with --force-new-cluster has what this member would have as the elected leader. The entries that are
// not yet in the database are in the log alone, and etcd itself would drop those that it does not know to be committed. from is only read.
func Rescue(ctx context.Context, from, to string, progress func(Progress)) (Position, error) {
	database, err := os.Open(filepath.Join(from, "member", "snap", "db"))
	if err != nil {
		return Position{}, fmt.Errorf("open database of the member: %w", err)
	}
	defer func() { _ = database.Close() }() // it was only read
	if err := lock(database, from); err != nil {
		return Position{}, err
	}
	if err := os.RemoveAll(to); err != nil {
		return Position{}, fmt.Errorf("remove an earlier copy: %w", err)
	}
	if err := copyMember(ctx, from, to, progress); err != nil {
		return Position{}, fmt.Errorf("copy the member's data: %w", err)
	}
	return commitAll(filepath.Join(to, "member"))
}

// RescueInPlace does the same without a copy, for a volume that is a copy itself. An etcd that runs there is refused.
func RescueInPlace(folder string) (Position, error) {
	database, err := os.Open(filepath.Join(folder, "member", "snap", "db"))
	if err != nil {
		return Position{}, fmt.Errorf("open database of the member: %w", err)
	}
	defer func() { _ = database.Close() }() // it was only locked
	if err := lock(database, folder); err != nil {
		return Position{}, err
	}
	return commitAll(filepath.Join(folder, "member"))
}

// lock keeps an etcd from starting on the database meanwhile: it holds a lock on that, and waits for ours.
func lock(database *os.File, folder string) error {
	switch err := syscall.Flock(int(database.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return &RunningError{folder}
	case err != nil:
		return fmt.Errorf("lock database of the member: %w", err)
	}
	return nil
}

// copyMember copies what etcd reads when it starts.
func copyMember(ctx context.Context, from, to string, progress func(Progress)) error {
	var names []string
	var p Progress
	for _, folder := range []string{"snap", "wal"} {
		found, size, err := partsOf(from, filepath.Join("member", folder))
		if err == nil {
			err = os.MkdirAll(filepath.Join(to, "member", folder), 0o700)
		}
		if err != nil {
			return err
		}
		names, p.Size = append(names, found...), p.Size+size
	}
	for _, name := range names {
		if err := copyFile(ctx, filepath.Join(from, name), filepath.Join(to, name), &p, progress); err != nil {
			return err
		}
	}
	return nil
}

// partsOf are the files of a folder that etcd reads, and how many bytes they have.
func partsOf(from, folder string) (names []string, size int64, err error) {
	entries, err := os.ReadDir(filepath.Join(from, folder))
	for _, entry := range entries {
		if !isPart(entry) {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			return nil, 0, err
		}
		names, size = append(names, filepath.Join(folder, entry.Name())), size+info.Size()
	}
	return names, size, err
}

// isPart says whether a file is one that etcd reads: not a spare segment of the log, nor what is left of a write.
func isPart(entry fs.DirEntry) bool {
	return entry.Type().IsRegular() && !strings.HasSuffix(entry.Name(), ".tmp") && !strings.HasSuffix(entry.Name(), ".broken")
}

func copyFile(ctx context.Context, from, to string, p *Progress, progress func(Progress)) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	const step = 8 << 20
	for err == nil && ctx.Err() == nil {
		var n int64
		n, err = io.CopyN(out, in, step)
		p.Read += n
		progress(*p)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, ctx.Err(), out.Close())
}

// commitAll has every entry of a member's log count as committed, and says which is the last one.
func commitAll(folder string) (Position, error) {
	log, start, err := openLog(folder)
	if err != nil {
		return Position{}, fmt.Errorf("open the member's log: %w", err)
	}
	_, state, entries, err := log.ReadAll()
	if errors.Is(err, io.ErrUnexpectedEOF) { // the machine went down while it was written; etcd repairs that in the same way
		if err = log.Close(); err == nil && !wal.Repair(zap.NewNop(), filepath.Join(folder, "wal")) {
			err = errors.New("it is damaged, and cannot be repaired")
		}
		if err == nil {
			log, start, err = openLog(folder)
		}
		if err == nil {
			_, state, entries, err = log.ReadAll()
		}
	}
	if err != nil {
		return Position{}, errors.Join(fmt.Errorf("read the member's log: %w", err), log.Close())
	}
	last := Position{start.GetTerm(), start.GetIndex()}
	if n := len(entries); n > 0 {
		last = Position{entries[n-1].GetTerm(), entries[n-1].GetIndex()}
	}
	if state.GetCommit() < last.Index {
		vote, term := state.GetVote(), max(state.GetTerm(), last.Term)
		err = log.Save(&raftpb.HardState{Term: &term, Vote: &vote, Commit: &last.Index}, nil)
	}
	if err := errors.Join(err, log.Close()); err != nil {
		return Position{}, fmt.Errorf("write the member's log: %w", err)
	}
	return last, removeSpares(filepath.Join(folder, "wal"))
}

// openLog opens the log from the newest snapshot on, as etcd does when it starts.
func openLog(folder string) (*wal.WAL, *walpb.Snapshot, error) {
	logs := filepath.Join(folder, "wal")
	known, err := wal.ValidSnapshotEntries(zap.NewNop(), logs)
	if err != nil {
		return nil, nil, err
	}
	start := &walpb.Snapshot{}
	newest, err := snap.New(zap.NewNop(), filepath.Join(folder, "snap")).LoadNewestAvailable(known)
	switch {
	case errors.Is(err, snap.ErrNoSnapshot):
	case err != nil:
		return nil, nil, err
	default:
		start.Index, start.Term = newest.Metadata.Index, newest.Metadata.Term
	}
	log, err := wal.Open(zap.NewNop(), logs, start)
	return log, start, err
}
