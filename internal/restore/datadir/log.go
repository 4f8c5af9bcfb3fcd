// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"context"
	"errors"
	"fmt"
	"iter"

	bolt "go.etcd.io/bbolt"
)

// Log is what was written after a database was, up to a target.
type Log struct {
	// Target says in words what the log leads to, such as "revision 1234": two data directories that are made of one database are the same if
	// their targets are.
	Target string
	// Size is how many bytes the changes have, for the room that they need.
	Size int64
	// Legs are the way, in order.
	Legs []Leg
}

// Leg is a part of the way to a target.
type Leg struct {
	Events iter.Seq2[Event, error]
	// Hash is that of the cluster where the leg ends; nil: it is not known. Another hash there is a *DifferentError.
	Hash *HashKV
}

// DifferentError means that the log and the database together are not the data that the cluster had.
type DifferentError struct{ Want, Got HashKV }

func (e *DifferentError) Error() string {
	const words = "with the log, the data at revision %d has hash %d, compacted up to %d; in the cluster it had %d, compacted up to %d"
	return fmt.Sprintf(words, e.Got.Revision, e.Got.Hash, e.Got.CompactRevision, e.Want.Hash, e.Want.CompactRevision)
}

// replay writes all legs into the database, and compares the hashes.
func (l *Log) replay(ctx context.Context, path string) error {
	base, err := highestRevision(path)
	if err != nil {
		return err
	}
	for _, leg := range l.Legs {
		done, err := Replay(ctx, path, leg.Events)
		if err != nil {
			return err
		}
		if err := leg.compare(ctx, path, done.Revision); err != nil {
			return err
		}
	}
	_, err = DetachUnknownLeases(ctx, path, base)
	return err
}

func (l Leg) compare(ctx context.Context, path string, reached int64) error {
	if l.Hash == nil {
		return nil
	}
	if reached != l.Hash.Revision {
		return &DifferentError{Want: *l.Hash, Got: HashKV{Revision: reached}}
	}
	got, err := HashAsOf(ctx, path, l.Hash.CompactRevision)
	if err != nil {
		return err
	}
	// A member that had compacted less than the database of the full backup has computed another sum of the same keys.
	if got.CompactRevision == l.Hash.CompactRevision && got != *l.Hash {
		return &DifferentError{Want: *l.Hash, Got: got}
	}
	return nil
}

// highestRevision is that of the database, whose pages were checked.
func highestRevision(path string) (int64, error) {
	db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		return 0, fmt.Errorf("open database: %w", err)
	}
	var found revisions
	err = db.View(func(tx *bolt.Tx) (err error) { found, err = readRevisions(tx); return err })
	return found.highest, errors.Join(err, db.Close())
}

// room is what the changes of a log take in a database, at most: pages are filled to nine tenths, and an entry has some more bytes there.
func (l *Log) room() int64 {
	if l == nil {
		return 0
	}
	return l.Size + l.Size/4
}
