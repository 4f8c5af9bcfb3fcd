// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// sumSize is the sum that etcd writes after a snapshot. Pages have a multiple of 512 bytes, so
// that it is recognised by the size (etcdutl snapshot restore does the same).
const sumSize = sha256.Size

// databaseSize is how much of a stream of that size is the database.
func databaseSize(stream int64) int64 {
	if stream%512 == sumSize {
		return stream - sumSize
	}
	return stream
}

// receive writes the database to a new file and syncs it, if it is the one that was meant.
func receive(ctx context.Context, path string, o Options, stream io.Reader) error {
	in := readAhead(&interruptible{ctx, stream})
	defer in.end()
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	out := newFlushing(file)
	if err = errors.Join(copyDatabase(out, in, o), out.end()); err == nil {
		err = file.Sync() // little is left to wait for, and by this descriptor the kernel says what it could not write
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write database: %w", err)
	}
	return nil
}

// beginsAsDatabase looks at the first page, so that gigabytes of something else are not written first.
func beginsAsDatabase(first []byte, size int64) error {
	switch {
	case len(first) >= metaEnd && !isMeta(first):
		return &DamagedError{Why: "the stream does not begin as a bbolt file does"}
	case len(first) < metaEnd && int64(len(first)) < size:
		return &SizeError{Want: size, Got: int64(len(first))}
	case len(first) < metaEnd:
		return &DamagedError{Why: "it is shorter than a page"}
	}
	return nil
}

// copyDatabase copies exactly the database, and compares its size and sum with what was said. It is the one place in which the
// database is hashed: at the end of the way, beside the file. One that is proven is not.
func copyDatabase(file io.Writer, in *ahead, o Options) error {
	c := copying{file: file, size: databaseSize(o.Size), total: o.Size}
	if !o.Proven {
		c.sum = sha256.New()
	}
	for {
		chunk, end := in.next()
		if end != nil && !errors.Is(end, io.EOF) {
			return end
		}
		if err := c.take(chunk); err != nil {
			return err
		}
		if end != nil {
			break
		}
	}
	if c.read != o.Size {
		return &SizeError{Want: o.Size, Got: c.read}
	}
	if o.OwnSum {
		o.SHA256 = [sumSize]byte(c.etcds)
	}
	got := o.SHA256
	if c.sum != nil {
		got = [sumSize]byte(c.sum.Sum(nil))
	}
	return compareSums(got, c.etcds, o.SHA256)
}

// copying is a stream of a known size on its way to a file.
type copying struct {
	file        io.Writer
	sum         hash.Hash // nil: the stream is checked as it is read
	size, total int64     // of the database, and of the stream
	read        int64
	etcds       []byte // sum, which follows the database
}

func (c *copying) take(chunk []byte) error {
	if c.read == 0 {
		if err := beginsAsDatabase(chunk, c.total); err != nil {
			return err
		}
	}
	database := chunk[:min(int64(len(chunk)), max(c.size-c.read, 0))]
	if c.read += int64(len(chunk)); c.read > c.total {
		return &SizeError{Want: c.total, Got: c.read}
	}
	if c.sum != nil {
		_, _ = c.sum.Write(database) // never fails
	}
	_, err := c.file.Write(database)
	c.etcds = append(c.etcds, chunk[len(database):]...)
	return err
}

// compareSums compares the database with the sum that the caller knows, and with etcd's own.
func compareSums(got [sumSize]byte, etcds []byte, want [sumSize]byte) error {
	if got != want {
		return &HashError{Want: want, Got: got}
	}
	if len(etcds) > 0 && !bytes.Equal(etcds, want[:]) {
		return &HashError{Want: [sumSize]byte(etcds), Got: got}
	}
	return nil
}

// flushing is a file that is written from its beginning to its end. What was written is flushed to the disk while the next is decoded
// and written, so that neither memory fills with what the disk does not have yet, nor the sync at the end has all of it to wait for.
type flushing struct {
	file          *os.File
	written, sent int64 // bytes
	pieces        chan piece
	ended         chan error
}

// piece is a part of a file, in bytes.
type piece struct{ from, size int64 }

// flushEach is how much of a file is sent to the disk at a time. Four times that is the most that is in memory only: what the disk
// writes, what was sent to it, what waits, and what is being written.
const flushEach = 8 << 20

func newFlushing(file *os.File) *flushing {
	f := &flushing{file: file, pieces: make(chan piece, 1), ended: make(chan error, 1)}
	go f.flush()
	return f
}

func (f *flushing) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	if f.written += int64(n); f.written-f.sent >= flushEach {
		f.pieces <- piece{f.sent, f.written - f.sent}
		f.sent = f.written
	}
	return n, err
}

// flush goes on to take pieces after an error, which end reports.
func (f *flushing) flush() {
	var err error
	for p := range f.pieces {
		if err == nil {
			err = flush(f.file, p.from, p.size)
		}
	}
	f.ended <- err
}

// end waits until nothing of the file is being flushed any more.
func (f *flushing) end() error {
	close(f.pieces)
	return <-f.ended
}

// interruptible is a stream that ends with its context, at the next read.
type interruptible struct {
	ctx    context.Context
	stream io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.stream.Read(p)
}
