// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

const (
	// unfinished is the folder of files that are being written. No name of an object can have a tilde.
	unfinished = "unfinished~"
	// abandoned is how old such a file is when no process can still be writing it: the largest may take two minutes.
	abandoned = 24 * time.Hour
	// Pods that share the volume through its group (fsGroup of a Pod) may share the backups; no others.
	folderMode = 0o770
	fileMode   = 0o660
	// stride is how many bytes are copied between two checks of the deadline.
	stride = 1 << 20
)

// volume is the store in a folder of a mounted volume, which is made when something is written. Nothing outside of its root can be
// reached, through symbolic links neither.
type volume struct {
	root   *os.Root
	prefix string
	once   sync.Once // files of writers that died are looked for once
}

func (c Config) openVolume(spec v1beta1.VolumeStore) (Store, error) {
	prefix, err := folderOf(spec.Path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(c.Mount)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{Kind: NoBucket, Do: "open", Name: c.Mount, Message: "no volume is mounted there", cause: err}
	}
	if err != nil {
		return nil, classify("open", c.Mount, err)
	}
	return &volume{root: root, prefix: prefix}, nil
}

func (v *volume) Close() error { return v.root.Close() }

func (v *volume) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	return get(ctx, v, name, limit)
}

func (v *volume) Head(ctx context.Context, name string, bytes int64) ([]byte, error) {
	reader, err := v.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(reader, bytes))
	return content, errors.Join(err, reader.Close())
}

func (v *volume) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := checkReadable(name); err != nil {
		return nil, err
	}
	file, err := v.root.Open(v.prefix + name)
	if err != nil {
		return nil, classify("read", name, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, errors.Join(classify("read", name, err), file.Close())
	}
	return &volumeReader{ctx: ctx, name: name, file: file}, nil
}

// volumeReader reads a file until its context ends. A mount that hangs cannot be given up: the kernel waits for it.
type volumeReader struct {
	ctx  context.Context
	name string
	file *os.File
}

func (r *volumeReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	n, err := r.file.Read(p[:min(len(p), stride)])
	if err != nil && !errors.Is(err, io.EOF) {
		err = classify("read", r.name, err)
	}
	return n, err
}

func (r *volumeReader) Close() error { return r.file.Close() }

func (v *volume) Delete(_ context.Context, name string) error {
	if err := checkWritable("delete", name); err != nil {
		return err
	}
	target := v.prefix + name
	folder := path.Dir(target)
	err := v.root.Remove(target)
	if errors.Is(err, syscall.ENOTEMPTY) {
		return nil // a folder is no object
	}
	if err == nil {
		err = v.syncFolder(folder)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return classify("delete", name, err)
	}
	// Object stores have no empty folders. One that has a file again, or still, stays.
	for len(folder) > len(v.prefix) && v.root.Remove(folder) == nil {
		folder = path.Dir(folder)
	}
	return nil
}

func (v *volume) syncFolder(folder string) error {
	dir, err := v.root.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(flush(dir), dir.Close())
}

// flush writes a file or folder to the disk. Some network file systems have nothing to do for folders, and say so.
func flush(file *os.File) error {
	err := file.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

func (v *volume) List(ctx context.Context, folder string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		objects, err := v.below(ctx, folder)
		if err != nil {
			yield(Object{}, err)
			return
		}
		for _, o := range objects {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Folders are those that have an object somewhere below them, as in the other stores.
func (v *volume) Folders(ctx context.Context, folder string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		objects, err := v.below(ctx, folder)
		if err != nil {
			yield("", err)
			return
		}
		last := ""
		for _, o := range objects {
			first, _, isDeeper := strings.Cut(o.Name[len(folder):], "/")
			if !isDeeper || first == last {
				continue
			}
			if last = first; !yield(folder+first+"/", nil) {
				return
			}
		}
	}
}

// below are the objects at any depth, sorted as bytes: a walk sorts "a/b" before "a-b".
func (v *volume) below(ctx context.Context, folder string) ([]Object, error) {
	if err := checkFolder(folder); err != nil {
		return nil, err
	}
	var objects []Object
	visit := func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist):
			return nil // it was deleted meanwhile, or never was there
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == unfinished:
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		objects = append(objects, Object{Name: strings.TrimPrefix(name, v.prefix), Size: info.Size(), Modified: info.ModTime()})
		return nil
	}
	start := path.Clean("./" + v.prefix + folder)
	if err := fs.WalkDir(v.root.FS(), start, visit); err != nil {
		return nil, classify("list", folder, err)
	}
	slices.SortFunc(objects, func(a, b Object) int { return strings.Compare(a.Name, b.Name) })
	return objects, nil
}

// same is what a name that is taken means: success if the content is the same.
func same(ctx context.Context, s Store, name string, content []byte) error {
	there, err := s.Get(ctx, name, int64(len(content)))
	switch {
	case errors.Is(err, TooLarge), err == nil && !bytes.Equal(there, content):
		return &Error{Kind: Exists, Do: "write", Name: name, Message: "an object of that name has other content"}
	case errors.Is(err, NotFound):
		return &Error{Kind: Exists, Do: "write", Name: name, Message: "a folder has that name, or an object that was deleted just now"}
	}
	return err
}
