// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive/boltstream"
	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
)

// Job is what is to be written, besides the snapshot itself.
type Job struct {
	// Manifest is what is known beforehand: of which cluster, and why. Write fills in the rest.
	Manifest Manifest
	// Total is how many bytes the snapshot has, with etcd's sha256; 0 if that is not known.
	Total int64
	// Recipients of age: only they can read the backup; none: it is not encrypted.
	Recipients []string
	// PartSize in bytes; 0: DefaultPartSize.
	PartSize int
	// Complete adds to the manifest what can only be asked once the revision is known, such as the number of
	// keys. It is called after the last part is in the store, and before the manifest is. It may be nil.
	Complete func(context.Context, *Manifest) error
	// Now is the clock.
	Now func() time.Time
	// Progress is called with the progress, one call at a time, from any goroutine. It may be nil.
	Progress func(Progress)
}

// Progress is how far a Write or a Read is.
type Progress struct {
	Read, Total int64 // bytes of the snapshot; Total is 0 if that is not known
	Parts       int   // in the store
	Stored      int64 // bytes in the store
}

// Write reads a snapshot to its end, and makes a backup of it. The snapshot must end with the context.
//
// It returns the manifest as it is in the store. After an error there is no manifest that Write knows of, but there may
// be parts: they are the rest of a backup, which nothing takes for one.
func Write(ctx context.Context, store Store, source io.Reader, job Job) (Manifest, error) {
	m := job.Manifest
	m.Format, m.Compression = m.format(), zstdCompression
	if err := m.Folder().check(); err != nil {
		return Manifest{}, err
	}
	if m.Upload != "" && !isName(m.Upload) {
		return Manifest{}, fmt.Errorf("write backup: an upload cannot be named %q", m.Upload)
	}
	recipients, err := encryption.ParseRecipients(job.Recipients)
	if err != nil {
		return Manifest{}, err
	}
	if len(job.Recipients) > 0 {
		m.Encryption = &Encryption{Format: ageEncryption, Recipients: job.Recipients}
	}
	if job.PartSize < 0 || job.PartSize > MaxPartSize {
		return Manifest{}, fmt.Errorf("write backup: a part cannot have %d bytes", job.PartSize)
	}
	u := newUpload(ctx, store, m, job)
	facts, err := u.take(source, recipients, &m)
	if err = errors.Join(err, u.end(err)); err != nil {
		return Manifest{}, fmt.Errorf("write backup: %w", err)
	}
	m.Revision, m.CompactRevision = facts.Revision, facts.CompactRevision
	m.Etcd.StorageVersion = facts.StorageVersion
	return seal(ctx, store, m, job)
}

// take sends the whole snapshot to the store. Nothing is closed after an error: that would seal a stream that is too
// short, and looks whole.
func (u *upload) take(source io.Reader, recipients encryption.Recipients, m *Manifest) (boltstream.Facts, error) {
	encrypted, err := recipients.Encrypt(u)
	if err != nil {
		return boltstream.Facts{}, err
	}
	compressed, err := zstd.NewWriter(encrypted, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(encoderWindow), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(true))
	if err != nil {
		return boltstream.Facts{}, fmt.Errorf("make compressor: %w", err)
	}
	var pages boltstream.Parser
	database := newSnapshot(&counted{source: source, upload: u})
	if _, err := io.Copy(io.MultiWriter(compressed, &pages), database); err != nil {
		return boltstream.Facts{}, err
	}
	// What etcd sent may be whole and yet no database that can be restored.
	facts, err := pages.Facts()
	if err != nil {
		return facts, fmt.Errorf("read revision of snapshot: %w", err)
	}
	if err := closeAll(compressed, encrypted, u); err != nil {
		return facts, err
	}
	m.Database, m.Parts, m.StoredBytes = database.database(), u.parts, u.progress.Stored
	return facts, nil
}

// encoderWindow in bytes: what zstd looks back at, so that it needs 2 MiB of memory. The default of 4 MiB makes
// databases about 1 % smaller.
const encoderWindow = 1 << 20

func closeAll(in ...io.Closer) error {
	for _, c := range in {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// seal writes the manifest, which makes a backup of the parts.
func seal(ctx context.Context, store Store, m Manifest, job Job) (Manifest, error) {
	if job.Complete != nil {
		if err := job.Complete(ctx, &m); err != nil {
			return Manifest{}, fmt.Errorf("complete manifest: %w", err)
		}
	}
	m.FinishedAt = job.Now()
	content, err := m.Encode()
	if err != nil {
		return Manifest{}, err
	}
	// What could not be read back is no backup.
	m, err = ParseManifest(m.Folder(), content)
	if err != nil {
		return Manifest{}, err
	}
	if err := ctx.Err(); err != nil {
		return Manifest{}, fmt.Errorf("put manifest: %w", err)
	}
	if err := store.Put(ctx, m.Folder().Manifest(), content); err != nil {
		return Manifest{}, fmt.Errorf("put manifest: %w", err)
	}
	return m, nil
}

// counted reports how much was read.
type counted struct {
	source io.Reader
	upload *upload
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.source.Read(p)
	c.upload.read(int64(n))
	if errors.Is(err, io.EOF) {
		return n, c.upload.ended()
	}
	return n, err
}
