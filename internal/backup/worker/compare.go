// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"iter"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/backup/log/state"
)

// mostOfKey is how many bytes an example has of a long key.
const mostOfKey = 256

// compareKeys says what a partial restore would do. Nothing is written.
func compareKeys(ctx context.Context, j job) (jobspec.Done, error) {
	o := j.Compare
	l, err := j.connect()
	if err != nil {
		return jobspec.Done{}, err
	}
	at, err := j.moment(ctx)
	if err != nil {
		return jobspec.Done{}, err
	}
	was, err := j.stateAt(ctx, at, o.Prefix, o.Identities)
	if err != nil {
		return jobspec.Done{}, err
	}
	revision, err := l.revision(ctx)
	if err != nil {
		return jobspec.Done{}, err
	}
	found, err := l.compare(ctx, was, o.Prefix, revision, "comparing with the keys that the cluster has; nothing is written")
	return jobspec.Done{Located: &at, Changes: &found.Changes}, err
}

// moment is the one that a comparison is about.
func (j job) moment(ctx context.Context) (jobspec.Located, error) {
	if at := j.Compare.At; at != nil {
		return *at, nil
	}
	target := *j.Compare.Target
	target.Identities = j.Compare.Identities
	return j.locate(ctx, target)
}

// compare compares keys as they were with those that the cluster has at a revision.
func (l *liveCluster) compare(
	ctx context.Context, was *state.State, prefix []byte, revision int64, message string,
) (comparison, error) {
	c := comparison{Changes: jobspec.Changes{Revision: revision}, digest: sha256.New()}
	there := int64(0)
	now := counted(l.keys(ctx, prefix, revision, message), &there)
	for d, err := range state.Diff(was.Keys(), now) {
		if err != nil {
			return comparison{}, err
		}
		c.add(d)
	}
	c.Same = there - c.Update - c.Delete
	c.Digest = hex.EncodeToString(c.digest.Sum(nil))
	return c, nil
}

func counted(all iter.Seq2[state.Key, error], count *int64) iter.Seq2[state.Key, error] {
	return func(yield func(state.Key, error) bool) {
		for k, err := range all {
			*count++
			if !yield(k, err) {
				return
			}
		}
	}
}

// comparison is what is known of all differences.
type comparison struct {
	jobspec.Changes
	digest hash.Hash
	bytes  int64 // of keys, and of the values that they get
}

// add adds a difference, which comes after those before in the order of keys.
func (c *comparison) add(d state.Difference) {
	count(&c.Changes, d.Kind)
	if d.Was != nil && d.Was.Lease != 0 {
		c.Leased++
	}
	c.Examples = named(c.Examples, d.Kind, d.Key())
	u := d.Undo()
	c.bytes += bytesIn(u)
	text := append([]byte(d.Kind), '\n')
	text = binary.BigEndian.AppendUint64(text, uint64(len(u.Key)))
	text = append(text, u.Key...)
	text = binary.BigEndian.AppendUint64(text, uint64(u.ModRevision)) //nolint:gosec // revisions are not negative
	_, _ = c.digest.Write(text)                                       // never fails
}

// count counts what is done about a difference.
func count(c *jobspec.Changes, kind state.Kind) {
	switch kind {
	case state.Deleted:
		c.Create++
	case state.Changed:
		c.Update++
	case state.Added:
		c.Delete++
	}
}

// doing is what is done about a difference.
var doing = map[state.Kind]string{state.Deleted: "create", state.Changed: "update", state.Added: "delete"}

// named adds an example, unless there are enough.
func named(examples []jobspec.Example, kind state.Kind, key []byte) []jobspec.Example {
	if len(examples) == jobspec.MostExamples {
		return examples
	}
	return append(examples, jobspec.Example{Key: shortened(key), What: doing[kind]})
}

func shortened(key []byte) []byte { return key[:min(len(key), mostOfKey)] }

func bytesIn(u state.Undo) int64 { return int64(len(u.Key) + len(u.Value)) }
