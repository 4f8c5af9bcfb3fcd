// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// headersAtOnce is how many headers are read at the same time: each is a request of 2 KiB that a store answers after a while.
const headersAtOnce = 16

// replayed is the way from a backup to the target of a restore.
type replayed struct {
	log     *datadir.Log
	reading *log.Reading // of the last leg
	next    *log.Header  // of the segment after the target; nil: there is none, or it is not known
}

// replay plans how the backup and the log lead to the target. The segments are read when the data directory is made.
func (j job) replay(ctx context.Context, m archive.Manifest, o jobspec.TargetOrder) (replayed, error) {
	if err := isLineageOf(o.Lineage, m.Cluster.ClusterID); err != nil {
		return replayed{}, err
	}
	folder := log.Folder{Namespace: m.Namespace, Cluster: m.Cluster.Name, Lineage: o.Lineage}
	segments, err := j.segments(ctx, folder, m.Revision, o.Revision)
	if err != nil {
		return replayed{}, err
	}
	base := log.Base{ID: m.ID, Revision: m.Revision, Finished: m.FinishedAt}
	plan, err := log.Choose(folder, []log.Base{base}, segments, log.Target{Revision: o.Revision, Time: o.Time})
	if err != nil {
		return replayed{}, err
	}
	secret, err := j.identities(j.Restore.Identities)
	if err != nil {
		return replayed{}, err
	}
	identities := encryption.ParseIdentities(secret)
	if err := plan.Readable(identities); err != nil {
		return replayed{}, err
	}
	first, hash, rest := plan.Split()
	r := replayed{log: &datadir.Log{Target: plan.Target.String(), Size: plan.Size()}, reading: rest.Follow(identities)}
	if n := len(segments); n > 0 && o.Revision > 0 && segments[n-1].Header.First.Revision > o.Revision {
		r.next = &segments[n-1].Header
	}
	if hash != nil {
		proven := datadir.HashKV(*hash)
		r.log.Legs = append(r.log.Legs, datadir.Leg{Events: j.events(ctx, first.Segments, first.Follow(identities), startsNext), Hash: &proven})
	}
	r.log.Legs = append(r.log.Legs, datadir.Leg{Events: j.events(ctx, rest.Segments, r.reading, startsNext)})
	return r, nil
}

// isLineageOf keeps the log of another cluster from a backup.
func isLineageOf(lineage, clusterID string) error {
	id, err := strconv.ParseUint(clusterID, 16, 64)
	if prefix := strings.TrimSuffix(log.Lineage(id, 0), "0"); err != nil || !strings.HasPrefix(lineage, prefix) {
		return &unclear{fmt.Sprintf("lineage %q is none of cluster %s", lineage, clusterID)}
	}
	return nil
}

// segments reads the headers of all that a restore from that revision on may need, and of the one after its target, which says what is left
// out. If the target is a time, 0 is its revision, and all headers up to the end of the log are read.
func (j job) segments(ctx context.Context, f log.Folder, base, target int64) ([]log.Listed, error) {
	var all []log.Listed
	for object, err := range j.where.List(ctx, f.String()+"/") {
		if err != nil {
			return nil, fmt.Errorf("list the log: %w", err)
		}
		in, first, ok := log.ParseName(object.Name)
		if !ok || in != f {
			continue // something else
		}
		if first.Revision <= base+1 {
			all = all[:0] // what is before it is in the backup
		}
		all = append(all, log.Listed{Object: object.Name, Size: object.Size})
		if target > 0 && first.Revision > target {
			break
		}
	}
	return all, j.headers(ctx, all)
}

func (j job) headers(ctx context.Context, all []log.Listed) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	free := make(chan struct{}, headersAtOnce)
	var wait sync.WaitGroup
	for i := range all {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			head, err := j.where.Head(ctx, all[i].Object, log.HeaderSize)
			if err == nil {
				all[i].Header, _, err = log.ParseHeader(all[i].Object, head)
			}
			if err != nil {
				stop(fmt.Errorf("read the log: %w", err))
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// startsNext is what comes after the log in a restore to a volume.
const startsNext = "the member is started next"

// events are those of a reading, which is of these segments, in the words of a data directory.
func (j job) events(ctx context.Context, segments []log.Listed, r *log.Reading, next string) iter.Seq2[datadir.Event, error] {
	return func(yield func(datadir.Event, error) bool) {
		j.loaded(ctx, segments, func(load func(object string) ([]byte, error)) {
			for e, err := range r.Events(func(object string) ([]byte, error) {
				j.say.progress(0, 0, fmt.Sprintf("replaying the log, which is at revision %d; %s", r.Reached, next))
				return load(object)
			}) {
				if !yield(datadir.Event(e), err) {
					return
				}
			}
		})
	}
}

// reached is where the restore has ended, and what it has left out.
func (r replayed) reached() *jobspec.Reached {
	left := r.reading.Left
	if left.Revision == 0 && r.next != nil {
		left.Revision, left.Time = r.next.First.Revision, r.next.Began
	}
	return &jobspec.Reached{Revision: r.reading.Reached, At: r.reading.At, LeftRevision: left.Revision, LeftAt: left.Time}
}
