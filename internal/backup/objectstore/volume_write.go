// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Put writes a file beside the objects, syncs it, and gives it its name by a hard link, which fails if the name is
// taken. A crash at any moment leaves the whole object or none.
func (v *volume) Put(ctx context.Context, name string, content []byte) error {
	if err := errors.Join(checkWritable("write", name), checkContent(name, content)); err != nil {
		return err
	}
	limited := begin(ctx, int64(len(content)))
	limited.connected.Store(true) // a mount is a connection
	defer limited.end()
	err := v.write(limited, v.prefix+name, content)
	if errors.Is(err, fs.ErrExist) {
		return same(ctx, v, name, content)
	}
	return limited.failed("write", name, err)
}

func (v *volume) write(ctx context.Context, target string, content []byte) error {
	folder := v.prefix + unfinished
	if err := v.makeFolder(folder); err != nil {
		return err
	}
	file, err := v.create(folder)
	if err != nil {
		return err
	}
	temporary := folder + "/" + path.Base(file.Name())
	v.once.Do(func() { v.removeAbandoned(folder, path.Base(temporary)) })
	err = errors.Join(fill(ctx, file, content), file.Close())
	if err == nil {
		err = v.place(temporary, target)
	}
	if gone := v.root.Remove(temporary); err == nil && !errors.Is(gone, fs.ErrNotExist) {
		err = gone
	}
	if err != nil {
		return err
	}
	return v.syncFolder(path.Dir(target))
}

// create makes a file that nothing else writes.
func (v *volume) create(folder string) (*os.File, error) {
	for {
		name := folder + "/" + rand.Text()
		file, err := v.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
}

// fill looks at the deadline between strides. The data is on the disk when it returns.
func fill(ctx context.Context, file *os.File, content []byte) error {
	for len(content) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := file.Write(content[:min(len(content), stride)])
		if err != nil {
			return err
		}
		content = content[n:]
	}
	return file.Sync()
}

// place makes the folder of an object and names the file. A deletion in between may have found the folder empty.
func (v *volume) place(temporary, target string) error {
	for try := 1; ; try++ {
		err := v.makeFolder(path.Dir(target))
		if err == nil {
			err = v.name(temporary, target)
		}
		if try == 3 || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// name gives a file its name if no other file has it. Some file systems have no hard links (SMB), others no renaming that
// spares what is there (NFS); each has one of them.
func (v *volume) name(temporary, target string) error {
	err := v.root.Link(temporary, target)
	if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOTSUP) && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	return v.rename(temporary, target)
}

func (v *volume) rename(temporary, target string) error {
	from, err := v.root.Open(path.Dir(temporary))
	if err != nil {
		return err
	}
	to, err := v.root.Open(path.Dir(target))
	if err != nil {
		return errors.Join(err, from.Close())
	}
	err = unix.Renameat2(int(from.Fd()), path.Base(temporary), int(to.Fd()), path.Base(target), unix.RENAME_NOREPLACE)
	return errors.Join(err, from.Close(), to.Close())
}

// makeFolder makes what is missing of a folder, and syncs what has a new entry.
func (v *volume) makeFolder(folder string) error {
	made := "."
	for part := range strings.SplitSeq(folder, "/") {
		next := path.Join(made, part)
		if next == made {
			continue
		}
		err := v.root.Mkdir(next, folderMode)
		if err == nil {
			err = v.syncFolder(made)
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		made = next
	}
	return nil
}

// removeAbandoned removes files whose writers died. Their age is that of a file that was made just now: both times are
// by the clock of the file system.
func (v *volume) removeAbandoned(folder, justMade string) {
	now, err := v.root.Stat(folder + "/" + justMade)
	if err != nil {
		return
	}
	entries, err := fs.ReadDir(v.root.FS(), folder)
	if err != nil {
		return
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && now.ModTime().Sub(info.ModTime()) > abandoned {
			// What cannot be removed is looked at by the next one.
			_ = v.root.Remove(folder + "/" + entry.Name())
		}
	}
}
