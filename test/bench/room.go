// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/load"
)

// Goals of defragmentation and of NOSPACE: the longest time without a write, in milliseconds, and seconds until writes are taken again.
const defragmentGap, writableWithin = 100, 30

// defragment measures what an application notices while every member's database is defragmented: 2 GiB, of which half is free.
func defragment(ctx context.Context, b *bench) ([]row, error) {
	const name, sizeMiB = "gap-defrag", 2048
	cluster := b.threeMembers(name)
	cluster.Spec.Storage.Size = ptr.To(resource.MustParse("6Gi"))
	cluster.Spec.Maintenance.Defragmentation.Mode = v1beta1.DefragmentOff
	if _, err := b.apply(ctx, cluster); err != nil {
		return nil, err
	}
	if err := b.fill(ctx, name, sizeMiB); err != nil {
		return nil, err
	}
	if err := b.halve(ctx, name, sizeMiB*mebibyte/valueSize); err != nil {
		return nil, err
	}
	if err := b.calm(ctx, name, 3); err != nil {
		return nil, err
	}
	begin := time.Now()
	beats, err := b.pulse(ctx, name, func() error { return b.defragmented(ctx, name) })
	if err != nil {
		return nil, err
	}
	took := time.Since(begin).Seconds()
	b.progress("defragmented after %.1f s: %s", took, beats)
	files, err := b.filesBeside(ctx, name, name+"-0", sizeMiB/2)
	if err != nil {
		return nil, err
	}
	var gap, floor, failed, seconds sample
	floor.milliseconds(files.Gap)
	gap.milliseconds(beats.Gap)
	failed.add(float64(beats.Failed))
	seconds.add(took)
	return []row{
		alone("gap-defrag-2GiB", "ms", gap.median(), atMost(defragmentGap), gap),
		alone("gap-files-1GiB", "ms", floor.median(), nil, floor),
		alone("gap-defrag-2GiB-failed", "writes", failed.median(), atMost(0), failed),
		alone("defrag-2GiB", "s", seconds.median(), nil, seconds),
	}, b.remove(ctx, name)
}

// filesBeside is what the disk alone does to the application of a cluster: no member is touched, and files of that many MiB are written
// three times beside the volume of that claim, each synced once, as etcd does with a database that it receives, or defragments with up to
// 10,000 keys.
func (b *bench) filesBeside(ctx context.Context, cluster, claim string, sizeMiB int) (load.Beats, error) {
	volume, err := b.folderOf(ctx, claim)
	if err != nil {
		return load.Beats{}, err
	}
	folder, err := os.MkdirTemp(filepath.Dir(volume), "bench-")
	if err != nil {
		return load.Beats{}, fmt.Errorf("make a folder beside the volumes: %w", err)
	}
	defer os.RemoveAll(folder)
	beats, err := b.pulse(ctx, cluster, func() error {
		for i := range 3 {
			if err := writeFile(filepath.Join(folder, strconv.Itoa(i)), sizeMiB); err != nil {
				return err
			}
		}
		return nil
	})
	b.progress("three files beside it: %s", beats)
	return beats, err
}

// writeFile writes a file of so many MiB and syncs it once, at the end.
func writeFile(name string, sizeMiB int) error {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("make a file: %w", err)
	}
	block := make([]byte, mebibyte)
	for i := 0; err == nil && i < sizeMiB; i++ {
		_, err = file.Write(block)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write a file: %w", err)
	}
	return nil
}

// halve deletes every other large key, and its history.
func (b *bench) halve(ctx context.Context, cluster string, count int) error {
	a, err := b.application(ctx, cluster)
	if err != nil {
		return err
	}
	defer a.close()
	var last int64
	for i := 1; i <= count; i += 2 {
		gone, err := a.etcd.Delete(ctx, fmt.Sprintf("large/%d", i))
		if err != nil {
			return fmt.Errorf("empty the database: %w", err)
		}
		last = gone.Header.Revision
	}
	if _, err := a.etcd.Compact(ctx, last, clientv3.WithCompactPhysical()); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	return nil
}

// defragmented asks for it by the annotation, and waits until every member is.
func (b *bench) defragmented(ctx context.Context, cluster string) error {
	const request = "bench"
	var found v1beta1.EtcdCluster
	key := client.ObjectKey{Namespace: b.namespace, Name: cluster}
	if err := b.client.Get(ctx, key, &found); err != nil {
		return fmt.Errorf("get EtcdCluster: %w", err)
	}
	before := client.MergeFrom(found.DeepCopy())
	found.Annotations = map[string]string{v1beta1.AnnotationDefragment: request}
	if err := b.client.Patch(ctx, &found, before); err != nil {
		return fmt.Errorf("annotate EtcdCluster: %w", err)
	}
	err := poll(ctx, "members to be defragmented", blink, 2*patience, func() (bool, error) {
		if err := b.client.Get(ctx, key, &found); err != nil {
			return false, fmt.Errorf("get EtcdCluster: %w", err)
		}
		for _, m := range found.Status.Members {
			if m.LastDefragmentation == nil || m.LastDefragmentation.Request != request {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return b.calm(ctx, cluster, 3)
}

// noSpace times a database that history has filled, from the write that etcd refuses to the first one that it takes again.
func noSpace(ctx context.Context, b *bench) ([]row, error) {
	var writable sample
	for i := range b.n {
		took, err := b.fullOnce(ctx, fmt.Sprintf("nospace-%d", i))
		if err != nil {
			return nil, err
		}
		b.progress("%d of %d: writable after %.1f s", i+1, b.n, took.Seconds())
		writable.add(took.Seconds())
	}
	return []row{alone("nospace", "s", writable.median(), atMost(writableWithin), writable)}, nil
}

func (b *bench) fullOnce(ctx context.Context, name string) (time.Duration, error) {
	cluster := b.threeMembers(name)
	cluster.Spec.Etcd.Quota = ptr.To(resource.MustParse("64Mi"))
	if _, err := b.apply(ctx, cluster); err != nil {
		return 0, err
	}
	if err := b.calm(ctx, name, 3); err != nil {
		return 0, err
	}
	a, err := b.application(ctx, name)
	if err != nil {
		return 0, err
	}
	defer a.close()
	value, full := strings.Repeat("x", mebibyte), false
	for range 200 {
		if _, err = a.etcd.Put(ctx, "one", value); err != nil {
			full = errors.Is(err, rpctypes.ErrNoSpace)
			break
		}
	}
	if !full {
		return 0, fmt.Errorf("fill the database: %w", err)
	}
	begin := time.Now()
	err = poll(ctx, "a write", blink, patience, func() (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := a.etcd.Put(ctx, "pulse", "")
		return err == nil, nil
	})
	took := time.Since(begin)
	if err != nil {
		return 0, err
	}
	return took, b.remove(ctx, name)
}
