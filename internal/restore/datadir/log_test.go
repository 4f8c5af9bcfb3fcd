// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"errors"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// logOf leads from the database that small makes to its copy with two more puts, of which the second has an unknown lease.
func logOf(t *testing.T) (*Log, HashKV) {
	t.Helper()
	events := []Event{
		{Revision: 5, Key: []byte("a"), Value: []byte("2"), CreateRevision: 2, Version: 2},
		{Revision: 6, Key: []byte("d"), Value: []byte("2"), CreateRevision: 6, Version: 1, Lease: 99},
	}
	path := write(t, small(t))
	if _, err := Replay(t.Context(), path, each(events)); err != nil {
		t.Fatal(err)
	}
	hash := must(HashAsOf(t.Context(), path, 4))(t)
	return &Log{Target: "revision 6", Size: 1000, Legs: []Leg{{Events: each(events), Hash: &hash}, {Events: each(nil)}}}, hash
}

// TestMakeReplaysALog, proven by the hash at the end of a leg, and bumps the revision after it. The unknown lease is gone.
func TestMakeReplaysALog(t *testing.T) {
	db := small(t)
	o := options(t, db)
	o.BumpRevision, o.MarkCompacted = 1000, true
	o.Log, _ = logOf(t)
	makes(t, o, db)
	info := inspects(t, databaseOf(o))
	if info.Revision != 1006 || info.Keys != 4 {
		t.Errorf("%+v", info)
	}
	for _, e := range eventsOf(t, databaseOf(o), 4) {
		if e.Lease != 0 {
			t.Errorf("%+v", e)
		}
	}
	if found, keys := etcdsHash(t, databaseOf(o)); found != info.HashKV || keys != 4 {
		t.Errorf("%+v and %d keys; etcd has %+v and %d", info.HashKV, info.Keys, found, keys)
	}
	if err := Make(t.Context(), o, unread{t}); err != nil {
		t.Errorf("the same again: %v", err)
	}
	other := *o.Log
	other.Target = "revision 7"
	for name, log := range map[string]*Log{"another target": &other, "no log": nil} {
		o.Log = log
		if err := Make(t.Context(), o, unread{t}); !as[*ExistsError](err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMakeRefusesALog that does not lead to what the cluster had.
func TestMakeRefusesALog(t *testing.T) {
	db := small(t)
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		change func(*Log)
		is     func(error) bool
	}{
		"another hash":     {func(l *Log) { l.Legs[0].Hash.Hash++ }, as[*DifferentError]},
		"another revision": {func(l *Log) { l.Legs[0].Hash.Revision++ }, as[*DifferentError]},
		"a hole": {func(l *Log) {
			l.Legs = append(l.Legs, Leg{Events: each([]Event{{Revision: 8, Key: []byte("k")}})})
		}, as[*SequenceError]},
		"it cannot be read": {func(l *Log) {
			l.Legs[1].Events = func(yield func(Event, error) bool) { yield(Event{}, broken) }
		}, is(broken)},
		"no room": {func(l *Log) { l.Size = 1 << 60 }, as[*RoomError]},
	} {
		o := options(t, db)
		o.Log, _ = logOf(t)
		c.change(o.Log)
		if err := Make(t.Context(), o, bytes.NewReader(db)); !c.is(err) {
			t.Errorf("%s: %v", name, err)
		}
		nothing(t, o.Folder)
	}
}

// TestHashOfAnEarlierCompaction says nothing: a member that had compacted less computes another sum of the same keys.
func TestHashOfAnEarlierCompaction(t *testing.T) {
	path := write(t, small(t))
	edit(t, path, func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyFinishedCompact, revisionName(3)) })
	db := content(t, path)
	o := options(t, db)
	o.Log, _ = logOf(t)
	o.Log.Legs[0].Hash.CompactRevision, o.Log.Legs[0].Hash.Hash = 2, 1
	makes(t, o, db)
	if _, err := HashAsOf(t.Context(), path, 99); err == nil {
		t.Error("compacted in the future")
	}
}
