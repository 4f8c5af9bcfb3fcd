package datadir

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
)

// buffer is what is read of a stream at a time: the memory that a database of any size takes.
const buffer = 1 << 20

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
	in := bufio.NewReaderSize(&interruptible{ctx, stream}, buffer)
	if err := beginsAsDatabase(in, o.Size); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	err = copyDatabase(file, in, o)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write database: %w", err)
	}
	return nil
}

// beginsAsDatabase looks at the first page, so that gigabytes of something else are not written first.
func beginsAsDatabase(in *bufio.Reader, size int64) error {
	page, err := in.Peek(metaEnd)
	switch {
	case err == nil && !isMeta(page):
		return &DamagedError{Why: "the stream does not begin as a bbolt file does"}
	case errors.Is(err, io.EOF) && int64(len(page)) < size:
		return fmt.Errorf("read database: %w", &SizeError{Want: size, Got: int64(len(page))})
	case errors.Is(err, io.EOF):
		return &DamagedError{Why: "it is shorter than a page"}
	case err != nil:
		return fmt.Errorf("read database: %w", err)
	}
	return nil
}

// copyDatabase copies exactly the database, and compares its size and sum with what was said.
func copyDatabase(file io.Writer, in *bufio.Reader, o Options) error {
	sum, size := sha256.New(), databaseSize(o.Size)
	n, err := io.CopyBuffer(io.MultiWriter(file, sum), io.LimitReader(in, size), make([]byte, buffer))
	if err != nil {
		return err
	}
	rest, err := io.ReadAll(io.LimitReader(in, o.Size-size+1)) // etcd's sum, and one byte to see the end
	if err != nil {
		return err
	}
	if n += int64(len(rest)); n != o.Size {
		return &SizeError{Want: o.Size, Got: n}
	}
	return compareSums(sum, rest, o.SHA256)
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
