// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
)

// keySet is a set of keys of which it holds one part at a time, so that its memory has a limit.
// A caller iterates over all keys once for each part:
//
//	for set.next() {
//		… set.has(key), set.add(key) …
//	}
//
// A part is a range of hashes. It becomes smaller when there are too many keys in it, and what is
// left out is in a later part. has is right for each key in one of the parts, and false in all others.
type keySet struct {
	limit     int
	low, high uint64 // the hashes of this part
	begun     bool
	keys      map[keyHash]struct{}
}

// keyHash stands for a key. It is long enough that no two keys have the same.
type keyHash [16]byte

func newKeySet(limit int) *keySet {
	return &keySet{limit: limit, keys: map[keyHash]struct{}{}}
}

// next advances to the next part; false after the last one.
func (s *keySet) next() bool {
	if s.begun {
		if s.high == math.MaxUint64 {
			return false
		}
		s.low = s.high + 1
	}
	s.begun, s.high = true, math.MaxUint64
	clear(s.keys)
	return true
}

func (s *keySet) add(key []byte) {
	hash := hashOf(key)
	if !s.inPart(hash) {
		return
	}
	s.keys[hash] = struct{}{}
	for len(s.keys) > s.limit && s.high > s.low {
		s.halve()
	}
}

func (s *keySet) has(key []byte) bool {
	_, found := s.keys[hashOf(key)]
	return found
}

func (s *keySet) halve() {
	s.high = s.low + (s.high-s.low)/2
	for hash := range s.keys {
		if !s.inPart(hash) {
			delete(s.keys, hash)
		}
	}
}

func (s *keySet) inPart(hash keyHash) bool {
	part := binary.BigEndian.Uint64(hash[:])
	return part >= s.low && part <= s.high
}

func hashOf(key []byte) keyHash {
	sum := sha256.Sum256(key)
	return keyHash(sum[:16])
}
