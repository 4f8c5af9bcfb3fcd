// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/backup/encryption"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/search"
	"github.com/etcd-operator/etcd-operator/internal/restore/target"
)

// valuesBefore is how many bytes of keys and values are in memory for what changes have replaced, of the limit that a search has
// (jobs.Search).
const valuesBefore = 128 << 20

// searchLog writes what has happened to keys.
func searchLog(ctx context.Context, j job) (jobspec.Done, error) {
	o := j.Search
	logs, err := j.lineages(ctx, log.Folder{Namespace: o.Namespace, Cluster: o.Cluster})
	if err != nil {
		return jobspec.Done{}, err
	}
	l, others := chosen(logs, log.Folder{Namespace: o.Namespace, Cluster: o.Cluster, Lineage: o.Lineage})
	secret, err := j.identities(o.Identities)
	if err != nil {
		return jobspec.Done{}, err
	}
	q := search.Query{
		Key: o.Key, Prefix: o.Prefix, From: o.From, To: o.To, Since: o.Since, Until: o.Until, Newest: o.Newest, Limit: o.Limit,
		Deletions: o.Deletions, Before: o.Before, Memory: valuesBefore,
	}
	a := segmentsAheadOf{job: j}
	defer a.end()
	l.Headers = func(all []search.Segment) ([]log.Listed, error) { return j.headersOf(ctx, all) }
	l.Walk = func(all []log.Listed) log.Walk {
		return log.Walk{Folder: l.Folder, Segments: all, Load: a.begin(ctx, all, q.Newest), Identities: encryption.ParseIdentities(secret)}
	}
	r, err := q.Range(l, endOf(o))
	if err != nil {
		return jobspec.Done{}, unsearchable(err, others)
	}
	for _, s := range r.Segments {
		a.total += s.Size
	}
	found, err := j.record(changes(q.Through(r)), o.Values)
	if err != nil {
		return jobspec.Done{}, unsearchable(err, others)
	}
	if found.Cut == "" && o.Limit > 0 && found.Records == int64(o.Limit) {
		found.Cut = jobspec.CutLimit
	}
	found.Since, found.Until, found.NotBefore, found.NotAfter, found.Others = r.Began, r.Ended, r.NotBefore, r.NotAfter, others
	if len(r.Segments) > 0 {
		found.From = r.Segments[0].First.Revision
	}
	return jobspec.Done{Recorded: &found}, nil
}

// chosen is the lineage that is searched, and the names of the others, of which a person may name one.
func chosen(logs []target.Log, folder log.Folder) (l search.Log, others []string) {
	l.Folder = folder
	for _, each := range logs {
		if each.Folder != folder {
			others = append(others, each.Lineage)
			continue
		}
		for _, s := range each.Segments {
			l.Segments = append(l.Segments, search.Segment(s))
		}
	}
	return l, others
}

func endOf(o *jobspec.SearchOrder) log.End {
	if o.End == nil || o.End.Lineage != o.Lineage {
		return log.End{}
	}
	return log.End{Revision: o.End.Revision, Until: o.End.Until}
}

// headersOf reads headers of segments, many at a time.
func (j job) headersOf(ctx context.Context, segments []search.Segment) ([]log.Listed, error) {
	all := make([]target.Segment, 0, len(segments))
	for _, s := range segments {
		all = append(all, target.Segment(s))
	}
	return j.listed(ctx, all)
}

// segmentsAheadOf gets the segments of one part after the other before they are asked for.
type segmentsAheadOf struct {
	job
	part *ahead
	stop context.CancelFunc

	read, total int64 // bytes
}

// begin returns what gets the segments of a part. Nothing is on its way of the part before.
func (a *segmentsAheadOf) begin(ctx context.Context, part []log.Listed, isBackward bool) func(object string) ([]byte, error) {
	a.end()
	ordered := slices.Clone(part)
	if isBackward {
		slices.Reverse(ordered)
	}
	ctx, a.stop = context.WithCancel(ctx)
	a.part = newAhead(ordered, func(object string) ([]byte, error) { return a.where.Get(ctx, object, log.MaxStored) })
	return func(object string) ([]byte, error) {
		a.say.progress(a.read, a.total, "searching")
		content, err := a.part.next(object)
		a.read += int64(len(content))
		return content, err
	}
}

func (a *segmentsAheadOf) end() {
	if a.part != nil {
		a.stop()
		a.part.wait()
	}
}

// changes are those of a search as records.
func changes(all iter.Seq2[search.Change, error]) iter.Seq2[jobspec.Record, error] {
	return func(yield func(jobspec.Record, error) bool) {
		for c, err := range all {
			r := jobspec.Record{
				Time: c.Time, Deleted: c.Deleted, Key: c.Key, Value: c.Value, Revision: c.Revision, CreateRevision: c.CreateRevision,
				Version: c.Version, Lease: c.Lease,
			}
			if c.Before.Known && (c.Deleted || c.Version != 1) {
				before := append([]byte{}, c.Before.Value...)
				r.Before = &before
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// record writes records, as many as there is room for. Of each value it writes that many bytes at most; 0: all.
func (j job) record(all iter.Seq2[jobspec.Record, error], values int) (jobspec.Recorded, error) {
	var done jobspec.Recorded
	written := 0
	for r, err := range all {
		if err != nil {
			return jobspec.Recorded{}, err
		}
		r.Number, r.Size = done.Records+1, len(r.Value)
		r.Value = r.Value[:shortest(len(r.Value), values)]
		text, err := r.Encode()
		if err != nil {
			return jobspec.Recorded{}, err
		}
		if written += len(text); written > jobspec.MostRecords && done.Records > 0 {
			done.Cut = jobspec.CutSize
			return done, nil
		}
		if err := j.say.raw(text); err != nil {
			return jobspec.Recorded{}, err
		}
		done.Records++
	}
	return done, nil
}

func shortest(length, most int) int {
	if most > 0 && length > most {
		return most
	}
	return length
}

// unsearchableError says why the log was not searched, or not to its end, and what to do.
type unsearchableError struct {
	cause  error
	advice string
}

func (e *unsearchableError) Error() string { return e.cause.Error() + "; " + e.advice }
func (e *unsearchableError) Unwrap() error { return e.cause }

// unsearchable gives advice where a restore would need another one.
func unsearchable(err error, others []string) error {
	var wrong *log.Error
	if !errors.As(err, &wrong) {
		return err
	}
	switch wrong.Kind { //nolint:exhaustive // what is wrong with the log itself is the same for all who read it
	case log.NotFound:
		if len(others) == 0 {
			return &unsearchableError{err, "the store has no log of this cluster: look whether it is the right store"}
		}
		return &unsearchableError{err, "the store has " + list(others) + ": name one of these"}
	case log.TooEarly, log.TooLate:
		if len(others) == 0 {
			return &unsearchableError{err, "ask for what is in between"}
		}
		return &unsearchableError{err, "ask for what is in between, or name another history, of which the store has " + list(others)}
	case log.InGap:
		return &unsearchableError{err, "what was changed in this gap is not known: search what is before it, or what is after it"}
	}
	return err
}
