// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bytes"
	"context"
	"iter"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/state"
)

// revert takes back what apply has done. It needs not know how far that came, nor whether an attempt before it has taken some back.
func revert(ctx context.Context, j job) (jobspec.Done, error) {
	o := j.Revert
	l, err := j.connect()
	if err != nil {
		return jobspec.Done{}, err
	}
	before, err := j.stateAt(ctx, o.Before, o.Prefix, o.Identities)
	if err != nil {
		return jobspec.Done{}, err
	}
	applied, err := j.stateAt(ctx, o.At, o.Prefix, o.Identities)
	if err != nil {
		return jobspec.Done{}, err
	}
	done, err := l.revert(ctx, before, applied, o.Prefix)
	return jobspec.Done{Changes: &done}, err
}

func (l *liveCluster) revert(ctx context.Context, before, applied *state.State, prefix []byte) (jobspec.Changes, error) {
	revision, err := l.revision(ctx)
	if err != nil {
		return jobspec.Changes{}, err
	}
	const message = "writing keys as they were before the restore; it is reverted after the last one"
	w := &keyWriter{liveCluster: l, message: message, done: jobspec.Changes{Revision: revision}}
	if w.total, err = bytesOf(state.Diff(before.Keys(), applied.Keys())); err != nil {
		return jobspec.Changes{}, err
	}
	err = w.revert(ctx, state.Diff(before.Keys(), applied.Keys()), l.keys(ctx, prefix, revision, message))
	return w.done, err
}

func bytesOf(all iter.Seq2[state.Difference, error]) (sum int64, err error) {
	for d, err := range all {
		if err != nil {
			return 0, err
		}
		sum += bytesIn(d.Undo())
	}
	return sum, nil
}

// revert makes keys as they were, which are different since then, where they still are as they were made.
func (w *keyWriter) revert(ctx context.Context, made iter.Seq2[state.Difference, error], now iter.Seq2[state.Key, error]) error {
	find, stop := ascending(now)
	defer stop()
	for d, err := range made {
		if err != nil {
			return err
		}
		is, err := find(d.Key())
		if err != nil {
			return err
		}
		switch {
		case isSame(is, d.Was):
			count(&w.done, d.Kind)
		case !isSame(is, d.Is):
			w.skip(d.Kind, d.Key())
		default:
			// The value that apply has put is compared here: a transaction that compares it, too, would have no room for large ones.
			if err := w.add(ctx, step{state.Difference{Was: d.Was, Is: is}.Undo(), d.Kind}); err != nil {
				return err
			}
		}
	}
	return w.flush(ctx)
}

// isSame says whether both exist and have one value, or neither exists.
func isSame(a, b *state.Key) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.Value, b.Value)
}

// ascending finds keys among sorted ones, as long as each that is looked for comes after the one before; nil if there is none.
func ascending(all iter.Seq2[state.Key, error]) (find func(key []byte) (*state.Key, error), stop func()) {
	next, stop := iter.Pull2(all)
	current, err, more := next()
	return func(key []byte) (*state.Key, error) {
		for more && err == nil && bytes.Compare(current.Key, key) < 0 {
			current, err, more = next()
		}
		if !more || err != nil || !bytes.Equal(current.Key, key) {
			return nil, err
		}
		found := current
		return &found, nil
	}, stop
}
