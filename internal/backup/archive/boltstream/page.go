// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package boltstream

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
)

// Sizes and flags of bbolt's file format, version 2.
const (
	magic, version = 0xED0CDAED, 2

	pageHeader, metaSize, element, bucketHeader = 16, 64, 16, 16

	branchFlag, leafFlag = 0x01, 0x02
	bucketFlag           = 0x01 // of an element of a leaf: its value is a bucket
)

// meta is what a meta page says.
type meta struct {
	pageSize    int
	root        uint64 // page of the bucket that holds the others
	pages       uint64 // used and free
	transaction uint64
}

// newestMeta is that of the two meta pages which was written last and is whole. Page 0 says where page 1 is; where page 0 is damaged, the
// first meta page that is found is page 1, as bbolt has it.
func newestMeta(file []byte) (meta, error) {
	first, ok := metaAt(file, 0)
	if ok {
		second, ok := metaAt(file, first.pageSize)
		switch {
		case ok && second.pageSize != first.pageSize:
			return meta{}, ErrNotBolt
		case ok && second.transaction > first.transaction:
			return second, nil
		}
		return first, nil
	}
	for size := SmallestPage; size <= LargestPage; size *= 2 {
		switch second, ok := metaAt(file, size); {
		case ok && second.pageSize == size:
			return second, nil
		case ok:
			return meta{}, ErrNotBolt
		}
	}
	return meta{}, ErrNotBolt
}

// IsDatabase says whether a file is one of bbolt's, by its first 128 KiB or as much as it has. It may be another
// program's than etcd's.
func IsDatabase(head []byte) bool {
	_, err := newestMeta(head)
	return err == nil
}

// Size is how many bytes a database has, by its first 128 KiB; 0 if it is none. The file may have more, never less.
func Size(head []byte) int64 {
	m, err := newestMeta(head)
	if err != nil || m.pages > 1<<40 {
		return 0
	}
	return int64(m.pages) * int64(m.pageSize) //nolint:gosec // of at most 2^56
}

func metaAt(file []byte, at int) (meta, bool) {
	if len(file) < at+pageHeader+metaSize {
		return meta{}, false
	}
	m := file[at+pageHeader:][:metaSize]
	sum := fnv.New64a()
	_, _ = sum.Write(m[:56]) // a hash never fails
	size := int(u32(m[8:]))
	if u32(m) != magic || u32(m[4:]) != version || u64(m[56:]) != sum.Sum64() ||
		size < SmallestPage || size > LargestPage || size&(size-1) != 0 {
		return meta{}, false
	}
	return meta{pageSize: size, root: u64(m[16:]), pages: u64(m[40:]), transaction: u64(m[48:])}, true
}

// page is one with as much of what follows it as is at hand. All its methods are safe on any content.
type page []byte

func (p page) id() uint64       { return u64(p) }
func (p page) flags() uint16    { return binary.LittleEndian.Uint16(p[8:]) }
func (p page) count() int       { return int(binary.LittleEndian.Uint16(p[10:])) }
func (p page) overflow() uint64 { return uint64(u32(p[12:])) }

// whole says whether the table of elements is at hand.
func (p page) whole() bool { return len(p) >= pageHeader+p.count()*element }

// child is the page of element i of a branch.
func (p page) child(i int) uint64 { return u64(p[pageHeader+i*element+8:]) }

// entry is element i of a leaf. Offsets count from the start of the page.
type entry struct {
	bucket     bool
	key, value int // where they begin
	end        int
}

func (p page) entry(i int) entry {
	at := pageHeader + i*element
	e := p[at:]
	key := at + int(u32(e[4:]))
	value := key + int(u32(e[8:]))
	return entry{bucket: u32(e)&bucketFlag != 0, key: key, value: value, end: value + int(u32(e[12:]))}
}

// bytes is nil if not all of it is at hand.
func (p page) bytes(from, to int) []byte {
	if from > to || to > len(p) {
		return nil
	}
	return p[from:to]
}

// Lengths of a key in the bucket "key": main revision, '_', sub revision, and 't' if it is a deletion.
// See BytesToRev and isTombstone in go.etcd.io/etcd/server/v3/storage/mvcc.
const keySize, tombstoneSize = 17, 18

// mainRevision is that of a key of the bucket "key".
func mainRevision(key []byte) (int64, bool) {
	switch {
	case len(key) != keySize && len(key) != tombstoneSize, key[8] != '_':
		return 0, false
	case len(key) == tombstoneSize && key[keySize] != 't':
		return 0, false
	}
	main := binary.BigEndian.Uint64(key)
	if main > math.MaxInt64 {
		return 0, false
	}
	return int64(main), true
}

func damaged(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, arguments...))
}

func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func u64(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }
