// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
	"golang.org/x/sys/unix"
)

// restoring is the folder beside the data directory in which it is made. What is left of it is
// worth nothing.
const restoring = "restoring"

// lockName is a file in that folder. The process that holds its lock may work there; the lock ends with the process.
const lockName = "lock"

// overhead is what is needed beside the database: one segment of the log and the next one, which
// etcd's library makes ahead, 64 MB each, and 16 MiB by which bbolt lets a file grow.
const overhead = 150_000_000

// stagingDir is the folder in which the data directory is made, as long as no other process works there.
type stagingDir struct {
	folder, path string // the volume, and the folder restoring below it
	lock         *fileutil.LockedFile
	reached      func(step string)
}

// begin takes the lock. A lock file that was removed meanwhile, by one that had just finished,
// excludes no process, so that it is made again.
func begin(folder string, reached func(step string)) (*stagingDir, error) {
	w := &stagingDir{folder: folder, path: filepath.Join(folder, restoring), reached: reached}
	for {
		if err := os.Mkdir(w.path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make working folder: %w", err)
		}
		lock, err := fileutil.TryLockFile(w.lockPath(), os.O_RDWR|os.O_CREATE, 0o600)
		switch {
		case errors.Is(err, fileutil.ErrLocked):
			return nil, &BusyError{Folder: folder}
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("lock working folder: %w", err)
		}
		if w.lock = lock; w.locked() {
			return w, nil
		}
		_ = lock.Close() // that file is no longer in use
	}
}

func (w *stagingDir) lockPath() string { return filepath.Join(w.path, lockName) }

// locked says whether the file that is locked is still the one that others would lock.
func (w *stagingDir) locked() bool {
	ours, err := w.lock.Stat()
	if err != nil {
		return false
	}
	theirs, err := os.Stat(w.lockPath())
	return err == nil && os.SameFile(ours, theirs)
}

// end leaves nothing of the folder, also after an error: it would take room that others need.
func (w *stagingDir) end() error {
	w.reached("remove " + restoring)
	err := errors.Join(w.clear(), os.Remove(w.lockPath()))
	if empty := os.Remove(w.path); !errors.Is(empty, fs.ErrExist) && !errors.Is(empty, fs.ErrNotExist) {
		err = errors.Join(err, empty) // else another process begins there already
	}
	if err := errors.Join(err, w.lock.Close()); err != nil {
		return fmt.Errorf("remove working folder: %w", err)
	}
	return nil
}

// clear removes all but the lock.
func (w *stagingDir) clear() error {
	entries, err := os.ReadDir(w.path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != lockName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(w.path, entry.Name())))
		}
	}
	return err
}

// empty removes what is left of an earlier try, and asks whether there is room.
func (w *stagingDir) empty(need int64) error {
	if err := w.clear(); err != nil {
		return fmt.Errorf("remove the rest of an interrupted restore: %w", err)
	}
	var volume unix.Statfs_t
	if err := unix.Statfs(w.path, &volume); err != nil {
		return fmt.Errorf("ask for free room: %w", err)
	}
	free := int64(volume.Bavail) * int64(volume.Bsize) //nolint:gosec,unconvert // types differ between systems
	if free < need {
		return fmt.Errorf("make data directory: %w", &RoomError{Folder: w.folder, Need: need, Free: free})
	}
	return nil
}

// install puts the data directory in its place, when all of it is on disk.
func (w *stagingDir) install(name string) error {
	made := filepath.Join(w.path, name)
	var all []string
	err := filepath.WalkDir(made, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		return fmt.Errorf("list data directory: %w", err)
	}
	slices.Reverse(all) // what is in a folder before the folder
	for _, path := range append(all, w.path) {
		if err := w.sync(path); err != nil {
			return err
		}
	}
	w.reached("rename " + name)
	if err := os.Rename(made, filepath.Join(w.folder, name)); err != nil {
		return fmt.Errorf("put data directory in its place: %w", err)
	}
	w.reached("renamed " + name)
	return w.sync(w.folder)
}

// sync makes a file, or the names in a folder, survive a loss of power.
func (w *stagingDir) sync(path string) error {
	w.reached("sync " + path)
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", path, err)
	}
	w.reached("synced " + path)
	return nil
}

// exists says whether the data directory that is wanted is in its place already. Something else
// there is an error. The process may have ended between the rename and its sync, which is made up for.
func (w *stagingDir) exists(name string, wanted marker) (bool, error) {
	path := filepath.Join(w.folder, name)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("look for a data directory: %w", err)
	}
	clusterID, memberID := readIdentity(filepath.Join(path, "member", "wal"))
	found, ok := readMarker(path)
	if !ok || found != wanted || !wanted.names(clusterID, memberID) {
		return false, fmt.Errorf("make data directory: %w", &ExistsError{Path: path, ClusterID: clusterID, MemberID: memberID})
	}
	return true, w.sync(w.folder)
}
