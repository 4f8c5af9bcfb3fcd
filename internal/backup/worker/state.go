// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive"
	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/state"
	"github.com/etcd-operator/etcd-operator/internal/restore/datadir"
)

// mostState is how many bytes of keys and values a state has in memory, of the limit that the Job has (jobs.StateOf).
const mostState = 256 << 20

// stateOf writes the keys below a prefix as they were: those of a full backup, changed by the log up to the moment.
func stateOf(ctx context.Context, j job) (jobspec.Done, error) {
	o := j.State
	at, err := j.locate(ctx, o.Target)
	if err != nil {
		return jobspec.Done{}, err
	}
	s, err := j.stateAt(ctx, at, o.Prefix, o.Target.Identities)
	if err != nil {
		return jobspec.Done{}, err
	}
	recorded, err := j.record(keys(s.Keys()), 0)
	if err == nil && recorded.Cut != "" {
		err = &stateError{bytes: s.Size(), keys: s.Len(), most: jobspec.MostRecords}
	}
	return jobspec.Done{Located: &at, Recorded: &recorded}, err
}

// locate finds the moment that a target means.
func (j job) locate(ctx context.Context, o jobspec.LocateOrder) (jobspec.Located, error) {
	j.Locate = &o
	found, err := locate(ctx, j)
	if err != nil {
		return jobspec.Located{}, err
	}
	return *found.Located, nil
}

// stateAt is the keys below a prefix at a moment.
func (j job) stateAt(ctx context.Context, at jobspec.Located, prefix []byte, identities bool) (*state.State, error) {
	c, err := j.find(ctx, wanted{path: at.Path, identities: identities})
	if err != nil {
		return nil, err
	}
	if c.manifest == nil {
		return nil, &unclear{"a log leads on from backups of this operator alone"}
	}
	secret, err := j.identities(identities)
	if err != nil {
		return nil, err
	}
	s := state.New(prefix)
	if err := j.base(ctx, *c.manifest, secret, s); err != nil {
		return nil, err
	}
	return s, j.logOnto(ctx, *c.manifest, secret, at, s)
}

// base applies what is in a full backup.
func (j job) base(ctx context.Context, m archive.Manifest, secret []byte, s *state.State) error {
	file := filepath.Join(j.Folders.Scratch, jobspec.ScratchData)
	if err := j.unpackTo(ctx, m, secret, file); err != nil {
		return err
	}
	events := datadir.Events(ctx, file, func(p datadir.Progress) {
		j.say.progress(p.Read, p.Size, "reading the keys of the full backup; the log is read next")
	})
	return errors.Join(applied(s, events), os.Remove(file))
}

// unpackTo writes the database of a backup to a file, and compares its sum.
func (j job) unpackTo(ctx context.Context, m archive.Manifest, secret []byte, file string) error {
	database, err := archive.Open(ctx, j.where, m, secret, func(p archive.Progress) {
		j.say.progress(p.Read, m.Database.Size, "reading the full backup "+m.Folder().String()+"; its keys are read next")
	})
	if err != nil {
		return err
	}
	defer database.Close() //nolint:errcheck // it was read to its end, or that has failed already
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("create scratch file: %w", err)
	}
	_, err = io.Copy(out, database)
	return errors.Join(err, out.Close())
}

// logOnto applies what the log has after the full backup, up to the moment.
func (j job) logOnto(ctx context.Context, m archive.Manifest, secret []byte, at jobspec.Located, s *state.State) error {
	if at.Lineage == "" {
		return nil // the full backup is the moment
	}
	folder := log.Folder{Namespace: m.Namespace, Cluster: m.Cluster.Name, Lineage: at.Lineage}
	segments, err := j.segments(ctx, folder, m.Revision, at.Revision)
	if err != nil {
		return err
	}
	base := log.Base{ID: m.ID, Revision: m.Revision, Finished: m.FinishedAt}
	plan, err := log.Choose(folder, []log.Base{base}, segments, log.Target{Revision: at.Revision})
	if err != nil {
		return err
	}
	reading := plan.Follow(encryption.ParseIdentities(secret))
	return applied(s, j.events(ctx, plan.Segments, reading, "the keys below the prefix are sorted next"))
}

// applied has a state follow events, as long as there is memory for it.
func applied(s *state.State, events iter.Seq2[datadir.Event, error]) error {
	for e, err := range events {
		if err == nil {
			err = s.Apply(log.Event(e))
		}
		if err != nil {
			return err
		}
		if s.Size() > mostState {
			return &stateError{bytes: s.Size(), keys: s.Len(), most: mostState}
		}
	}
	return nil
}

// keys are those of a state as records.
func keys(all iter.Seq2[state.Key, error]) iter.Seq2[jobspec.Record, error] {
	return func(yield func(jobspec.Record, error) bool) {
		for k, err := range all {
			if !yield(jobspec.Record{
				Key: k.Key, Value: k.Value, Revision: k.ModRevision, CreateRevision: k.CreateRevision, Version: k.Version, Lease: k.Lease,
			}, err) {
				return
			}
		}
	}
}

// stateError says that there is too much below a prefix.
type stateError struct{ bytes, keys, most int }

func (e *stateError) Error() string {
	return fmt.Sprintf("below the prefix there are %d keys of %s, and the limit is %s: give a longer prefix, or restore into a new cluster",
		e.keys, mebibytes(int64(e.bytes)), mebibytes(int64(e.most)))
}

func list(names []string) string { return strings.Join(names, ", ") }
