// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/objectstore"
)

const (
	// segmentsAtOnce is how many names of segments are held: those that nothing needs are deleted before more are listed.
	segmentsAtOnce = 1000
	// deletedAtOnce is how many of these are deleted at the same time: each is a request that a store answers after a while.
	deletedAtOnce = 16
)

// expire deletes what nothing needs of the log of a cluster, the oldest of each lineage first. A Job that ends early leaves the rest to the
// next one. A segment that the store keeps locked stays, with those after it, until another backup is deleted: the one that this Job
// deletes does not wait for it.
func (j job) expire(ctx context.Context, kept log.Retained) error {
	var lineages []string
	for folder, err := range j.where.Folders(ctx, log.Root(kept.Namespace, kept.Cluster)) {
		if err != nil {
			return fmt.Errorf("list lineages of the log: %w", err)
		}
		lineages = append(lineages, path.Base(folder))
	}
	for _, lineage := range lineages {
		err := j.expireLineage(ctx, kept, log.Folder{Namespace: kept.Namespace, Cluster: kept.Cluster, Lineage: lineage})
		if err != nil && !errors.Is(err, objectstore.Locked) {
			return err
		}
	}
	return nil
}

// expireLineage goes through a lineage in one listing, as far as there is something to delete.
func (j job) expireLineage(ctx context.Context, kept log.Retained, f log.Folder) error {
	var names []string
	for object, err := range j.where.List(ctx, f.String()+"/") {
		if err != nil {
			return fmt.Errorf("list the log: %w", err)
		}
		if in, _, ok := log.ParseName(object.Name); !ok || in != f {
			continue // something else
		}
		if names = append(names, object.Name); len(names) < segmentsAtOnce {
			continue
		}
		expired := kept.Expired(names)
		if err := j.deleteSegments(ctx, f, expired); err != nil {
			return err
		}
		if names = names[len(expired):]; len(names) > 1 {
			return nil // what follows is needed, too
		}
	}
	return j.deleteSegments(ctx, f, kept.Expired(names))
}

func (j job) deleteSegments(ctx context.Context, f log.Folder, names []string) error {
	if len(names) == 0 {
		return nil
	}
	_, first, _ := log.ParseName(names[0])
	j.say.progress(0, 0, fmt.Sprintf("deleting what no backup needs of the log of lineage %s, from %s on", f.Lineage, first))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	free := make(chan struct{}, deletedAtOnce)
	var wait sync.WaitGroup
	for _, name := range names {
		free <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-free }()
			if err := j.where.Delete(ctx, name); err != nil {
				stop(err)
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}
