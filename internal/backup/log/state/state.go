// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package state makes the keys below a prefix as they were at a moment of a log, compares them with those that are there now, and says
// how to take back what is different.
//
// It is pure. It must never propose to write over a change that it has not seen.
package state

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/backup/log"
)

// Key is a key with all that etcd keeps of it.
type Key struct {
	Key, Value                                  []byte
	CreateRevision, ModRevision, Version, Lease int64
}

// State is the keys below a prefix at one revision.
type State struct {
	prefix []byte
	keys   map[string]Key
	at     log.Position // the last event that was applied
	size   int
}

// New has no keys. The prefix may be empty, for all keys.
func New(prefix []byte) *State { return &State{prefix: bytes.Clone(prefix), keys: map[string]Key{}} }

// At is the state after all events of the parts: those of a full backup, whose database has one in each row, and then those of a
// log.Reading up to the moment.
func At(prefix []byte, parts ...iter.Seq2[log.Event, error]) (*State, error) {
	s := New(prefix)
	for _, events := range parts {
		for e, err := range events {
			if err == nil {
				err = s.Apply(e)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

// Apply applies an event. Events come in the order of the history; one that does not is an error.
func (s *State) Apply(e log.Event) error {
	if e.Position().Compare(s.at) <= 0 {
		return fmt.Errorf("%s comes after %s", e.Position(), s.at)
	}
	s.at = e.Position()
	switch {
	case !bytes.HasPrefix(e.Key, s.prefix):
	case e.Deleted:
		s.forget(e.Key)
	default:
		s.forget(e.Key)
		s.size += len(e.Key) + len(e.Value)
		s.keys[string(e.Key)] = Key{
			Key: bytes.Clone(e.Key), Value: bytes.Clone(e.Value),
			CreateRevision: e.CreateRevision, ModRevision: e.Revision, Version: e.Version, Lease: e.Lease,
		}
	}
	return nil
}

func (s *State) forget(key []byte) {
	if old, has := s.keys[string(key)]; has {
		s.size -= len(old.Key) + len(old.Value)
		delete(s.keys, string(key))
	}
}

// Size is how many bytes the keys and their values have.
func (s *State) Size() int { return s.size }

// Len is how many keys there are.
func (s *State) Len() int { return len(s.keys) }

// Keys are those of the state, sorted as etcd returns them: by their bytes.
func (s *State) Keys() iter.Seq2[Key, error] {
	return func(yield func(Key, error) bool) {
		for _, name := range slices.Sorted(maps.Keys(s.keys)) {
			if !yield(s.keys[name], nil) {
				return
			}
		}
	}
}
