// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
)

const (
	// hashSize and hashAlignment: etcd sends a database, which is a multiple of its pages, and then its sha256.
	// So a stream of which 32 bytes are left over has the sum; etcdutl decides by the same rule. See hasChecksum
	// in go.etcd.io/etcd/etcdutl/v3/snapshot.
	hashSize      = sha256.Size
	hashAlignment = 512
)

// snapshot reads the database off a snapshot of etcd's: it holds the last 32 bytes back, and ends without an error
// only if they are the sha256 of all before them.
type snapshot struct {
	source  io.Reader
	maySkip bool // a snapshot without etcd's sha256 is taken, too

	buffer  []byte // its last 32 bytes may be the sum, the rest is to be read
	ended   bool
	sum     hash.Hash
	size    int64 // of the database, as far as it was read
	missing bool  // there was no sum
}

const snapshotBuffer = 64 << 10

func newSnapshot(source io.Reader) *snapshot {
	return &snapshot{source: source, sum: sha256.New(), buffer: make([]byte, 0, snapshotBuffer)}
}

func (s *snapshot) Read(p []byte) (int, error) {
	for len(s.buffer) <= hashSize && !s.ended {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	held := hashSize
	if s.missing {
		held = 0
	}
	n := copy(p, s.buffer[:max(0, len(s.buffer)-held)])
	if n == 0 && len(p) > 0 {
		return 0, s.end()
	}
	_, _ = s.sum.Write(p[:n]) // a hash never fails
	s.size += int64(n)
	s.buffer = s.buffer[:copy(s.buffer, s.buffer[n:])]
	return n, nil
}

// fill reads more, and notes at the end whether there is a sum.
func (s *snapshot) fill() error {
	n, err := s.source.Read(s.buffer[len(s.buffer):cap(s.buffer)])
	s.buffer = s.buffer[:len(s.buffer)+n]
	if errors.Is(err, io.EOF) {
		s.ended = true
		total := s.size + int64(len(s.buffer))
		s.missing = s.maySkip && total%hashAlignment == 0 && total > 0
		return nil
	}
	return err
}

// end is io.EOF if all was right.
func (s *snapshot) end() error {
	if s.missing {
		return io.EOF
	}
	switch total := s.size + int64(len(s.buffer)); {
	case total%hashAlignment != hashSize && total%hashAlignment != 0:
		return ErrTruncated
	case total%hashAlignment != hashSize || s.size == 0:
		return ErrNoHash
	case !bytes.Equal(s.buffer, s.sum.Sum(nil)):
		return corrupt("database", "its sha256 is not the one that etcd sent")
	}
	return io.EOF
}

// database is what was read, once it has ended.
func (s *snapshot) database() Database {
	return Database{Size: s.size, SHA256: hex.EncodeToString(s.sum.Sum(nil))}
}
