// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package search finds in a log what happened to keys.
//
// It is pure: what reads segments is given to it. It must never hold more than the values of the keys that are looked for.
package search

import (
	"bytes"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// Query is what is looked for.
type Query struct {
	Key    []byte
	Prefix bool // all keys that begin with Key, which may be empty then

	From, To     int64     // the first and the last revision; 0: without limit
	Since, Until time.Time // the first and the last moment, by the clock of the log's writer; zero: without limit

	Newest bool // the newest change first; else the oldest
	Limit  int  // how many changes at most; 0: all
	// Deletions leaves out what was put.
	Deletions bool
	// Before asks for the value that each change has replaced. With Newest and Limit, older segments are read for it, too, but nothing before
	// From and Since.
	Before bool
	// Memory is how many bytes of keys and values are kept for Before; 0: without limit. With more, some values before are not known.
	Memory int
}

// Change is what happened to a key. Its key and its values stay as they are.
type Change struct {
	log.Change
	Before Before // if the query asks for it
}

// Before is what was there before a change.
type Before struct {
	Known bool // it was found
	// Value is what the key had; nil if the key did not exist, or had an empty value. Without it, the change has Version 1.
	Value []byte
}

// Problem says why nothing can be looked for; empty if it can.
func (q Query) Problem() string {
	switch {
	case len(q.Key) == 0 && !q.Prefix:
		return "no key has no name"
	case q.From < 0, q.To < 0, q.Limit < 0:
		return "revisions and limits are not negative"
	}
	return ""
}

// Segments are those of a listing that may have what is looked for, by what their headers say. They follow each other.
func (q Query) Segments(all []log.Listed) []log.Listed {
	from := slices.IndexFunc(all, func(s log.Listed) bool { return !q.isEarlier(s.Header.Last.Revision, s.Header.Ended) })
	if from < 0 {
		return nil
	}
	all = all[from:]
	to := slices.IndexFunc(all, func(s log.Listed) bool { return q.isLater(s.Header.First.Revision, s.Header.Began) })
	if to < 0 {
		return all
	}
	return all[:to]
}

// In looks for it in a log.
func (q Query) In(w log.Walk) iter.Seq2[Change, error] {
	if problem := q.Problem(); problem != "" {
		return func(yield func(Change, error) bool) { yield(Change{}, errors.New(problem)) }
	}
	w.Segments = q.Segments(w.Segments)
	if q.Newest {
		return q.Among(w.Backward())
	}
	return q.Among(w.Forward())
}

// Among looks for it among changes in the order that the query asks for. What they have outside of its limits is good for values before.
// An error of theirs comes last, after what was found.
func (q Query) Among(changes iter.Seq2[log.Change, error]) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		f := found{Query: q, yield: yield, values: map[string]Before{}, waiting: map[string]int{}}
		for c, err := range changes {
			if err != nil {
				if f.flush() {
					yield(Change{}, err)
				}
				return
			}
			if more := f.see(c); !more {
				return
			}
		}
		f.flush()
	}
}

func (q Query) isEarlier(revision int64, at time.Time) bool {
	return revision < q.From || at.Before(q.Since)
}

func (q Query) isLater(revision int64, at time.Time) bool {
	return q.To > 0 && revision > q.To || !q.Until.IsZero() && at.After(q.Until)
}

func (q Query) isOf(key []byte) bool {
	if q.Prefix {
		return bytes.HasPrefix(key, q.Key)
	}
	return bytes.Equal(key, q.Key)
}
