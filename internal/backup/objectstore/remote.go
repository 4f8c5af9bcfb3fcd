// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"gocloud.dev/blob"
)

// dialect is what S3, Google and Azure each do their own way.
type dialect interface {
	// write creates an object by one request, which the store refuses if the name is taken.
	write(ctx context.Context, bucket *blob.Bucket, key string, content []byte) error
	// remove deletes the object's bytes, not only its name where the bucket keeps versions.
	remove(ctx context.Context, key string) error
	// lock is whether an object that could not be deleted is locked, and until when; zero if that is not known.
	lock(ctx context.Context, key string) (isLocked bool, until time.Time)
}

// remote is a store behind gocloud.dev/blob. Of the writers there only Upload is used, with content from memory: none of
// the others ends well when it is cancelled.
type remote struct {
	dialect
	bucket *blob.Bucket
	prefix string
	client *http.Client
}

func (r *remote) Close() error {
	err := r.bucket.Close()
	r.client.CloseIdleConnections()
	return err
}

// contentType is for content that no program should interpret.
const contentType = "application/octet-stream"

func (r *remote) Put(ctx context.Context, name string, content []byte) error {
	if err := errors.Join(checkWritable("write", name), checkContent(name, content)); err != nil {
		return err
	}
	limited := begin(ctx, int64(len(content)))
	defer limited.end()
	err := limited.failed("write", name, r.write(limited, r.bucket, r.prefix+name, content))
	if errors.Is(err, Exists) {
		return same(ctx, r, name, content)
	}
	return err
}

// upload is the write of Google and Azure.
func upload(ctx context.Context, bucket *blob.Bucket, key string, content []byte, before func(as func(any) bool) error) error {
	return bucket.Upload(ctx, key, bytes.NewReader(content), &blob.WriterOptions{
		ContentType:    contentType,
		IfNotExist:     true,
		BufferSize:     len(content) + 1, // with room to spare it is one request
		MaxConcurrency: 1,
		BeforeWrite:    before,
	})
}

func (r *remote) Get(ctx context.Context, name string, limit int64) ([]byte, error) {
	return get(ctx, r, name, limit)
}

func (r *remote) Head(ctx context.Context, name string, bytes int64) ([]byte, error) {
	if err := checkReadable(name); err != nil {
		return nil, err
	}
	reader := &remoteReader{ctx: ctx, store: r, name: name, piece: int(min(bytes, piece))}
	err := reader.fill()
	return reader.buffer, err
}

func (r *remote) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := checkReadable(name); err != nil {
		return nil, err
	}
	reader := &remoteReader{ctx: ctx, store: r, name: name, piece: piece}
	if err := reader.fill(); err != nil {
		return nil, err // so that a missing object is known now
	}
	return reader, nil
}

func (r *remote) Delete(ctx context.Context, name string) error {
	if err := checkWritable("delete", name); err != nil {
		return err
	}
	limited := begin(ctx, 0)
	defer limited.end()
	err := limited.failed("delete", name, r.remove(limited, r.prefix+name))
	if errors.Is(err, NotFound) {
		return nil
	}
	if e := (*Error)(nil); errors.As(err, &e) && (e.Kind == Locked || e.Kind == Forbidden) {
		if isLocked, until := r.lock(limited, r.prefix+name); isLocked {
			e.Kind, e.Until = Locked, until
		}
	}
	return err
}

func (r *remote) List(ctx context.Context, folder string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for o, err := range r.pages(ctx, folder, "") {
			if err != nil {
				yield(Object{}, err)
				return
			}
			object := Object{Name: strings.TrimPrefix(o.Key, r.prefix), Size: o.Size, Modified: o.ModTime}
			if !yield(object, nil) {
				return
			}
		}
	}
}

func (r *remote) Folders(ctx context.Context, folder string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for o, err := range r.pages(ctx, folder, "/") {
			if err != nil {
				yield("", err)
				return
			}
			if o.IsDir && !yield(strings.TrimPrefix(o.Key, r.prefix), nil) {
				return
			}
		}
	}
}

// pageSize is how many objects a listing asks for at once: at most, in all three stores.
const pageSize = 1000

// pages asks for a listing page by page, each with a deadline of its own.
func (r *remote) pages(ctx context.Context, folder, delimiter string) iter.Seq2[*blob.ListObject, error] {
	return func(yield func(*blob.ListObject, error) bool) {
		if err := checkFolder(folder); err != nil {
			yield(nil, err)
			return
		}
		options := &blob.ListOptions{Prefix: r.prefix + folder, Delimiter: delimiter}
		for token := blob.FirstPageToken; token != nil; {
			page, next, err := r.page(ctx, folder, token, options)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, o := range page {
				if !yield(o, nil) {
					return
				}
			}
			token = next
		}
	}
}

func (r *remote) page(ctx context.Context, folder string, token []byte, o *blob.ListOptions) ([]*blob.ListObject, []byte, error) {
	limited := begin(ctx, pageSize*1024)
	defer limited.end()
	page, next, err := r.bucket.ListPage(limited, token, pageSize, o)
	return page, next, limited.failed("list", folder, err)
}
