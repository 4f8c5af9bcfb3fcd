// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

// stages are what a backup is made of, by the names of their rows: what is read of the member, what is computed, and what is
// written to the disk of the store.
var stages = []string{"snapshot", "pack", "sink"}

// stagesAlone times each stage of a backup with nothing beside it, in their order.
func (b *bench) stagesAlone(ctx context.Context, l *large, last finished) (lap, error) {
	folder, err := workplaceOn(l.folder)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // the volume goes, too
	source := last.object.Status.Source
	snapshot, err := timed(func() error { return b.snapshot(ctx, l.cluster, source, io.Discard) })
	if err != nil {
		return nil, err
	}
	path := filepath.Join(folder, "snapshot")
	if err := b.saveSnapshot(ctx, l.cluster, source, path); err != nil {
		return nil, err
	}
	pack, err := packAlone(ctx, path, last.manifest)
	if err != nil {
		return nil, err
	}
	sink, err := sinkAlone(ctx, folder, last.manifest.StoredBytes)
	return lap{snapshot, pack, sink}, err
}

// snapshot reads the database of one member to its end.
func (b *bench) snapshot(ctx context.Context, cluster, member string, to io.Writer) error {
	pod, err := b.pod(ctx, member)
	if err != nil {
		return err
	}
	if pod == nil {
		return fmt.Errorf("member %q, which sent the snapshot of the backup, has no Pod", member)
	}
	client, err := b.dial(ctx, cluster, pod)
	if err != nil {
		return err
	}
	snapshot, err := client.Snapshot(ctx)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, snapshot)
	if err == nil && n != snapshot.Size {
		err = fmt.Errorf("%d bytes came of %d", n, snapshot.Size)
	}
	if err := errors.Join(err, snapshot.Close()); err != nil {
		return fmt.Errorf("read snapshot of %s: %w", member, err)
	}
	return nil
}

// saveSnapshot keeps a snapshot in a file. It is on the disk afterwards, so that nothing is written behind the next measurement.
func (b *bench) saveSnapshot(ctx context.Context, cluster, member, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create a file for the snapshot: %w", err)
	}
	err = b.snapshot(ctx, cluster, member, file)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	return nil
}

// packAlone makes a backup of a snapshot that is in memory already, and throws it away.
func packAlone(ctx context.Context, path string, m archive.Manifest) (time.Duration, error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("open the snapshot: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	// Once beforehand, so that the kernel has it in memory.
	size, err := io.Copy(io.Discard, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return 0, fmt.Errorf("read the snapshot: %w", err)
	}
	return timed(func() error {
		job := archive.Job{Manifest: m, Total: size, Now: time.Now}
		_, err := archive.Write(ctx, nowhere{}, bufio.NewReaderSize(file, mebibyte), job)
		return err
	})
}

// nowhere is a store that takes everything and keeps nothing.
type nowhere struct{}

var _ archive.Store = nowhere{}

func (nowhere) Put(context.Context, string, []byte) error { return nil }

func (nowhere) Open(context.Context, string) (io.ReadCloser, error) { return nil, fs.ErrNotExist }

func (nowhere) Get(context.Context, string, int64) ([]byte, error) { return nil, fs.ErrNotExist }

func (nowhere) Head(context.Context, string, int64) ([]byte, error) { return nil, fs.ErrNotExist }

func (nowhere) List(context.Context, string) iter.Seq2[archive.Object, error] {
	return func(func(archive.Object, error) bool) {}
}

// sinkAlone puts so many bytes into a store on the same volume, in objects as a backup has them, and as many at a time.
func sinkAlone(ctx context.Context, folder string, bytes int64) (time.Duration, error) {
	sink, err := objectstore.Open(ctx, objectstore.Config{
		Spec: v1beta1.EtcdBackupStoreSpec{Volume: &v1beta1.VolumeStore{Path: "sink"}}, Mount: folder,
	})
	if err != nil {
		return 0, err
	}
	sizes := partSizes(bytes, archive.DefaultPartSize)
	content := make([]byte, archive.DefaultPartSize)
	_, _ = rand.Read(content) // never fails
	took, err := timed(func() error {
		var next atomic.Int64
		return atOnce(make([]struct{}, archive.PartsInMemory-1), func(struct{}) error {
			for i := int(next.Add(1)) - 1; i < len(sizes); i = int(next.Add(1)) - 1 {
				if err := sink.Put(ctx, archive.PartName(i), content[:sizes[i]]); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return took, errors.Join(err, sink.Close())
}

// partSizes cuts so many bytes into parts of a size, the last of which may be smaller.
func partSizes(bytes, part int64) []int64 {
	var sizes []int64
	for ; bytes > 0; bytes -= part {
		sizes = append(sizes, min(bytes, part))
	}
	return sizes
}

// slowest is the one of which the median is the highest.
func slowest(all []sample) int {
	found := 0
	for i := range all {
		if all[i].median() > all[found].median() {
			found = i
		}
	}
	return found
}
