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
	err = copyDatabase(&flushing{file: file}, in, o)
	if err == nil {
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
// database is hashed: at the end of the way, beside the file.
func copyDatabase(file io.Writer, in *ahead, o Options) error {
	c := copying{file: file, sum: sha256.New(), size: databaseSize(o.Size), total: o.Size}
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
	return compareSums(c.sum, c.etcds, o.SHA256)
}

// copying is a stream of a known size on its way to a file.
type copying struct {
	file        io.Writer
	sum         hash.Hash
	size, total int64 // of the database, and of the stream
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
	_, _ = c.sum.Write(database) // never fails
	_, err := c.file.Write(database)
	c.etcds = append(c.etcds, chunk[len(database):]...)
	return err
}

// compareSums compares the database with the sum that the caller knows, and with etcd's own.
func compareSums(sum hash.Hash, etcds []byte, want [sumSize]byte) error {
	got := [sumSize]byte(sum.Sum(nil))
	if got != want {
		return &HashError{Want: want, Got: got}
	}
	if len(etcds) > 0 && !bytes.Equal(etcds, want[:]) {
		return &HashError{Want: [sumSize]byte(etcds), Got: got}
	}
	return nil
}

// flushing is a file that is written from its beginning to its end. What was written is flushed to the disk meanwhile, so that neither
// memory fills with what the disk does not have yet, nor the sync at the end has all of it to wait for.
type flushing struct {
	file             *os.File
	written, flushed int64 // bytes
}

// flushEach is how much of a file is sent to the disk at a time. Twice that is the most that is in memory only.
const flushEach = 8 << 20

func (f *flushing) Write(p []byte) (int, error) {
	n, err := f.file.Write(p)
	if f.written += int64(n); err == nil && f.written-f.flushed >= flushEach {
		err = flush(f.file, f.flushed, f.written-f.flushed)
		f.flushed = f.written
	}
	return n, err
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
