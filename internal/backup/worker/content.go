// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// wanted is the backup that an order means.
type wanted struct {
	path, sum               string // sum of its manifest, or of the database of another program; empty: whichever lies there
	identities, withoutHash bool
}

// content is the database of a backup, and what is known of it before it is read.
type content struct {
	manifest *archive.Manifest // nil: another program made the backup
	facts    jobspec.Facts
	size     int64 // bytes
	sum      [sha256.Size]byte
	noHash   bool // it does not end with etcd's sha256
	open     func(ctx context.Context, message string) (io.ReadCloser, error)
}

// find looks a backup up: by its manifest, or, if another program made it, by reading all of it once. Both ways the size and
// the sum are known before anything is made of it.
func (j job) find(ctx context.Context, w wanted) (content, error) {
	folder, _, ours := archive.ParseName(w.path + "/manifest.json")
	if !ours {
		return j.findForeign(ctx, w)
	}
	m, err := archive.ReadManifest(ctx, j.where, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, &goneError{w.path}
	}
	if err != nil {
		return content{}, err
	}
	if w.sum != "" && w.sum != m.SHA256 {
		problem := fmt.Sprintf("it has sha256 %s, and the one that is meant has %s: it was replaced", m.SHA256, w.sum)
		return content{}, &archive.CorruptError{Object: folder.Manifest(), Problem: problem}
	}
	secret, err := j.identities(w.identities)
	if err != nil {
		return content{}, err
	}
	c := content{manifest: &m, facts: factsOf(m), size: m.Database.Size}
	_, _ = hex.Decode(c.sum[:], []byte(m.Database.SHA256)) // ReadManifest has refused anything else
	c.open = func(ctx context.Context, message string) (io.ReadCloser, error) {
		database, err := archive.Open(ctx, j.where, m, secret, func(p archive.Progress) { j.say.progress(p.Read, m.Database.Size, message) })
		if err != nil {
			return nil, err
		}
		database.LeaveSum() // to datadir.Make, which hashes what it writes
		return database, nil
	}
	return c, nil
}

// largestForeign is more than etcd itself recommends a database to have, in bytes. It is only to bound what a few bytes may
// unpack to: nothing is written before the size is known.
const largestForeign = 64 << 30

// findForeign reads the whole snapshot: what compresses it hides its size, and etcd's sum is at its end.
func (j job) findForeign(ctx context.Context, w wanted) (content, error) {
	f, err := archive.FindForeign(ctx, j.where, w.path)
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, &goneError{w.path}
	}
	if err != nil {
		return content{}, err
	}
	c := content{facts: jobspec.Facts{Revision: f.Revision, Stored: f.Object.Size, StartedAt: f.Taken}}
	var last *archive.ForeignDatabase
	c.open = func(ctx context.Context, message string) (io.ReadCloser, error) {
		options := archive.ForeignOptions{MaxSize: largestForeign, WithoutHash: w.withoutHash || w.sum != ""}
		opened, err := archive.OpenForeign(ctx, j.where, f, options)
		if err != nil {
			return nil, err
		}
		last = opened
		return &progressReader{ReadCloser: opened, say: j.say, message: message, total: c.size}, nil
	}
	database, err := c.open(ctx, "reading "+w.path+" once, to see whether it is whole")
	if err != nil {
		return content{}, err
	}
	sum := sha256.New()
	size, err := io.Copy(sum, database)
	if err := errors.Join(err, database.Close()); err != nil {
		return content{}, fmt.Errorf("read %s: %w", w.path, err)
	}
	c.size, c.sum, c.facts.Database, c.noHash = size, [sha256.Size]byte(sum.Sum(nil)), size, last.HasNoHash()
	if found := hex.EncodeToString(c.sum[:]); w.sum != "" && w.sum != found {
		problem := fmt.Sprintf("its database has sha256 %s, and the one that was tried has %s: it was replaced", found, w.sum)
		return content{}, &archive.CorruptError{Object: w.path, Problem: problem}
	}
	return c, nil
}

// progressReader reports how far it was read.
type progressReader struct {
	io.ReadCloser
	say         *progressWriter
	message     string
	read, total int64
}

func (t *progressReader) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.read += int64(n)
	t.say.progress(t.read, t.total, t.message)
	return n, err
}

// make makes a data directory of it.
func (j job) make(ctx context.Context, c content, o datadir.Options, message string) error {
	o.Size, o.SHA256 = c.size, c.sum
	database, err := c.open(ctx, message)
	if err != nil {
		return err
	}
	return errors.Join(datadir.Make(ctx, o, database), database.Close())
}
