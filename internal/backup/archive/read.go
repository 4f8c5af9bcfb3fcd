// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"
)

// ReadManifest reads the manifest of a folder, and checks it. It is an fs.ErrNotExist if there is none, so that
// whatever is in the folder is no backup.
func ReadManifest(ctx context.Context, store Store, folder Folder) (Manifest, error) {
	if err := folder.check(); err != nil {
		return Manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	content, err := store.Get(ctx, folder.Manifest(), maxManifest)
	if err != nil {
		return Manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	m, err := ParseManifest(folder, content)
	if err != nil {
		return Manifest{}, fmt.Errorf("read manifest: %w", err)
	}
	return m, nil
}

// decoderWindow in bytes: four times what Write's encoder and eight times what any other level of it looks back at.
const decoderWindow = 8 << 20

// Reader is the database of a backup. What it gives is good only once it has ended with io.EOF.
type Reader struct {
	parts    *parts
	decoder  *zstd.Decoder
	database *exactly
}

// Open begins to read a backup. Identities are the text of a file as age-keygen makes it; nil if the backup is not
// encrypted. The manifest is one of ReadManifest. Progress may be nil.
func Open(ctx context.Context, store Store, m Manifest, identities []byte, progress func(Progress)) (*Reader, error) {
	if err := m.check(m.Folder()); err != nil {
		return nil, fmt.Errorf("open backup: %w", err)
	}
	stored := newParts(ctx, store, m, progress)
	decrypted, err := decrypt(stored, m.Encryption, identities)
	if err != nil {
		stored.Close()
		return nil, fmt.Errorf("open backup: %w", err)
	}
	decoder, err := zstd.NewReader(decrypted, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(decoderWindow))
	if err != nil {
		stored.Close()
		return nil, fmt.Errorf("open backup: %w", err)
	}
	database := newExactly(decoder, m.Database)
	return &Reader{parts: stored, decoder: decoder, database: database}, nil
}

// LeaveSum leaves the sha256 of the database to the caller, which compares it with the manifest's before anything is made of what was
// read: so that a database is hashed once, where it is written. Parts and sizes are checked as ever. It is called before Read.
func (r *Reader) LeaveSum() { r.database.sum = nil }

// Read ends with io.EOF only if every byte of the backup was read, and all of them are what etcd sent.
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.database.Read(p)
	r.parts.decoded(int64(n))
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, fmt.Errorf("read backup: %w", decoding(err))
}

// Close ends what is on its way. It must be called.
func (r *Reader) Close() error {
	r.parts.Close()
	r.decoder.Close()
	return nil
}

// decoding is an error of age's or zstd's, unless it is one of ours that came through them. Parts have been checked by
// then: so a manifest was made for them.
func decoding(err error) error {
	var missing *MissingPartError
	var bad *CorruptError
	var store *storeError
	switch {
	case errors.As(err, &missing), errors.As(err, &bad), errors.As(err, &store),
		errors.Is(err, ErrTruncated), errors.Is(err, ErrTooLarge), errors.Is(err, ErrNoHash):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: within the last part", ErrTruncated)
	}
	return corrupt("database", "its parts cannot be decoded: %v", err)
}

// storeError is one of the store's: nothing is known of the backup.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// readPart reads one part, and checks it.
func readPart(ctx context.Context, store Store, name string, part Part, buffer []byte) ([]byte, error) {
	stream, err := store.Open(ctx, name)
	if err == nil {
		buffer, err = readUpTo(stream, buffer, part.Size+1)
		err = errors.Join(err, stream.Close())
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &MissingPartError{Part: name}
	case err != nil:
		return nil, &storeError{fmt.Errorf("get part %s: %w", name, err)}
	}
	return buffer, checkPart(name, part, buffer)
}
