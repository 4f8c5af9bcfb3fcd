// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package objectstore

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"gocloud.dev/blob"
)

// get reads a whole small object.
func get(ctx context.Context, s Store, name string, limit int64) ([]byte, error) {
	reader, err := s.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(reader, limit+1))
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	if int64(len(content)) > limit {
		err = &Error{Kind: TooLarge, Do: "read", Name: name, Message: "more bytes than it should have"}
		return nil, errors.Join(err, reader.Close())
	}
	return content, reader.Close()
}

const (
	// piece is how much is asked for at once. The store does not wait while the last piece is written to a slow disk.
	piece = 4 << 20
	// tries is how often a piece is asked for in all before the reader fails.
	tries = 5
	// pause is between the first two tries; it grows.
	pause = 500 * time.Millisecond
)

// remoteReader reads an object piece by piece, so that each piece can be asked for again.
type remoteReader struct {
	ctx   context.Context
	store *remote
	name  string
	piece int // bytes that are asked for at once

	buffer   []byte    // of a piece
	unread   []byte    // of the buffer
	offset   int64     // of what comes after the buffer
	size     int64     // of the object
	modified time.Time // the object; zero before its first piece
	err      error
}

func (r *remoteReader) Read(p []byte) (int, error) {
	if len(r.unread) == 0 && r.err == nil {
		r.err = r.fill()
	}
	if len(r.unread) == 0 {
		return 0, r.err
	}
	n := copy(p, r.unread)
	r.unread = r.unread[n:]
	return n, nil
}

func (r *remoteReader) Close() error { return nil }

// fill reads the next piece. What came before a connection broke stays.
func (r *remoteReader) fill() error {
	if !r.modified.IsZero() && r.offset >= r.size {
		return io.EOF
	}
	r.buffer = r.buffer[:0]
	for try := 1; ; try++ {
		err := r.fetch()
		r.unread = r.buffer
		if err == nil {
			return nil
		}
		if try == tries || !errors.Is(err, Unreachable) && !errors.Is(err, Busy) {
			return err
		}
		if err := sleep(r.ctx, time.Duration(try)*pause); err != nil {
			return err
		}
	}
}

// fetch asks for the rest of a piece.
func (r *remoteReader) fetch() error {
	limited := begin(r.ctx, 0)
	defer limited.end()
	reader, err := r.store.bucket.NewRangeReader(limited, r.store.prefix+r.name, r.offset, int64(r.piece-len(r.buffer)), nil)
	if err != nil {
		return limited.failed("read", r.name, err)
	}
	err = r.take(limited, reader)
	if closed := reader.Close(); err == nil && closed != nil {
		return limited.failed("read", r.name, closed)
	}
	return err
}

func (r *remoteReader) take(limited *request, reader *blob.Reader) error {
	if err := r.isSame(reader); err != nil {
		return err
	}
	held := len(r.buffer)
	want := int(min(int64(r.piece-held), r.size-r.offset))
	limited.allow(int64(want))
	r.buffer = slices.Grow(r.buffer, want)[:held+want]
	n, err := io.ReadFull(reader, r.buffer[held:])
	r.buffer, r.offset = r.buffer[:held+n], r.offset+int64(n)
	return limited.failed("read", r.name, err)
}

// isSame notes which object this is. Its size and time identify an object here: those of
// backups are never overwritten, and their content has a hash.
func (r *remoteReader) isSame(reader *blob.Reader) error {
	if r.modified.IsZero() {
		r.size, r.modified = reader.Size(), reader.ModTime()
	}
	if r.size != reader.Size() || !r.modified.Equal(reader.ModTime()) {
		return &Error{Kind: Changed, Do: "read", Name: r.name, Message: "its size or time is another one than before"}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
