// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/state"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// mostChanges and mostBytes are what a transaction has at most, but for a single key that is larger. etcd takes 128 changes and 1.5 MiB,
// unless it is configured to take others.
const mostChanges, mostBytes = 100, 512 << 10

// apply makes the keys below a prefix as they were, by what was compared. A second attempt finds the same differences, as they are those
// of the revision that was compared, and counts as done what the first one has done.
func apply(ctx context.Context, j job) (jobspec.Done, error) {
	o := j.Apply
	l, err := j.connect()
	if err != nil {
		return jobspec.Done{}, err
	}
	was, err := j.stateAt(ctx, o.At, o.Prefix, o.Identities)
	if err != nil {
		return jobspec.Done{}, err
	}
	done, err := l.apply(ctx, was, *o)
	return jobspec.Done{Changes: &done}, err
}

func (l *liveCluster) apply(ctx context.Context, was *state.State, o jobspec.ApplyOrder) (jobspec.Changes, error) {
	found, err := l.agreed(ctx, was, o)
	if err != nil {
		return jobspec.Changes{}, err
	}
	const message = "writing keys; the restore ends after the last one"
	w := &keyWriter{liveCluster: l, message: message, total: found.bytes, done: jobspec.Changes{Revision: found.Revision}}
	for d, err := range state.Diff(was.Keys(), l.keys(ctx, o.Prefix, found.Revision, message)) {
		if err == nil {
			err = w.add(ctx, step{d.Undo(), d.Kind})
		}
		if as[*compactedError](err) {
			err = &outdatedError{fmt.Sprintf("etcd has compacted revision %d while keys were written, and some were not", found.Revision)}
		}
		if err != nil {
			return jobspec.Changes{}, err
		}
	}
	err = w.flush(ctx)
	return w.done, err
}

// agreed compares again, and refuses what is not what was compared before. Where etcd no longer has the revision, the differences must be
// the same at the present one.
func (l *liveCluster) agreed(ctx context.Context, was *state.State, o jobspec.ApplyOrder) (comparison, error) {
	const message = "comparing again; keys are written next"
	present, err := l.revision(ctx)
	if err != nil {
		return comparison{}, err
	}
	if present < o.Revision {
		return comparison{}, &outdatedError{fmt.Sprintf("the cluster is at revision %d, and %d was compared", present, o.Revision)}
	}
	found, err := l.compare(ctx, was, o.Prefix, o.Revision, message)
	if as[*compactedError](err) {
		found, err = l.compare(ctx, was, o.Prefix, present, message)
	}
	if err != nil {
		return comparison{}, err
	}
	if found.Digest != o.Digest {
		return comparison{}, &outdatedError{"keys below the prefix have changed since they were compared, and nothing was written"}
	}
	return found, nil
}

// step is what becomes of one key.
type step struct {
	state.Undo
	kind state.Kind
}

// keyWriter writes keys, many at once, and counts.
type keyWriter struct {
	*liveCluster
	message string
	batch   []step
	size    int64 // of the batch
	done    jobspec.Changes

	written, total int64 // bytes
}

// add makes a change, with others or later.
func (w *keyWriter) add(ctx context.Context, s step) error {
	size := bytesIn(s.Undo)
	if len(w.batch) == mostChanges || w.size+size > mostBytes {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	w.batch, w.size = append(w.batch, s), w.size+size
	return nil
}

// flush makes the changes that were added.
func (w *keyWriter) flush(ctx context.Context) error {
	err := w.write(ctx, w.batch)
	w.batch, w.size = w.batch[:0], 0
	return err
}

// write makes changes in one transaction, or each by itself if they are more than the cluster takes at once.
func (w *keyWriter) write(ctx context.Context, batch []step) error {
	if len(batch) == 0 {
		return nil
	}
	made, err := w.transact(ctx, batch)
	switch {
	case errors.Is(err, etcd.ErrTooLarge) && len(batch) > 1:
		for i := range batch {
			if err := w.write(ctx, batch[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	case errors.Is(err, etcd.ErrTooLarge):
		return &keySizeError{batch[0].Key, len(batch[0].Value), err}
	case err != nil:
		return err
	}
	for i, s := range batch {
		if err := w.ended(ctx, s, made[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *keyWriter) transact(ctx context.Context, batch []step) (made []bool, err error) {
	changes := make([]etcd.Guarded, 0, len(batch))
	for _, s := range batch {
		change := etcd.Change{KeyValue: etcd.KeyValue{Key: s.Key, Value: s.Value}, Deleted: s.Delete}
		changes = append(changes, etcd.Guarded{Change: change, ModRevision: s.ModRevision})
	}
	revision := int64(0)
	err = w.serve(ctx, func(ctx context.Context, member etcd.Client) error {
		made, revision, err = member.ApplyIf(ctx, changes)
		return err
	})
	w.done.Revision = max(w.done.Revision, revision)
	return made, err
}

// ended counts a change that was made, or that is no longer needed. Another key stays as others have changed it.
func (w *keyWriter) ended(ctx context.Context, s step, isMade bool) error {
	w.written += bytesIn(s.Undo)
	w.say.progress(w.written, w.total, w.message)
	if !isMade {
		now, err := w.get(ctx, s.Key)
		if err != nil {
			return err
		}
		isMade = s.isDone(now)
	}
	if isMade {
		count(&w.done, s.kind)
	} else {
		w.skip(s.kind, s.Key)
	}
	return nil
}

func (w *keyWriter) skip(kind state.Kind, key []byte) {
	w.done.Skipped++
	w.done.Examples = named(w.done.Examples, kind, key)
}

// isDone says whether a key is as it is to become, which another attempt may have done.
func (s step) isDone(now etcd.Item) bool {
	if s.Delete {
		return now.Changed == 0
	}
	return now.Changed != 0 && bytes.Equal(now.Value, s.Value)
}

// outdatedError says why what was compared is not done.
type outdatedError struct{ why string }

func (e *outdatedError) Error() string { return e.why + "; the keys are compared again" }

// keySizeError names a key that the cluster does not take.
type keySizeError struct {
	key   []byte
	value int // bytes
	err   error
}

func (e *keySizeError) Error() string {
	return fmt.Sprintf("key %q, whose value has %d bytes, is larger than the cluster takes: %v", shortened(e.key), e.value, e.err)
}

func (e *keySizeError) Unwrap() error { return e.err }
