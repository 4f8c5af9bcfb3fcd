// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package boltstream reads from an etcd database what a backup must know of it, while the file passes by
// once: the revision above all, which etcd does not report with a snapshot.
//
// A bbolt file is a tree of pages, in which no page is written twice in one transaction. So parents and
// children come in any order, beside pages that are free and still have old content. The parser keeps 16
// bytes of each page (the last child of a branch, the last revision of a leaf), and follows the tree when the
// file has ended. It holds a quarter megabyte of the file at a time, whatever the size of a value is.
//
// It must never fail on what a page has inside, however random, never read a page that the newest
// transaction does not reach as a fact, and never need a file.
//
// Layout of a page and of the two meta pages: go.etcd.io/bbolt v1.5.0, internal/common. Numbers are in little
// endian, as on every platform that etcd supports. Buckets and keys: go.etcd.io/etcd/server/v3/storage/schema.
package boltstream

import (
	"errors"
	"fmt"
)

var (
	// ErrNotBolt means that neither of the first two pages is a meta page of bbolt's with a right checksum.
	ErrNotBolt = errors.New("not a bbolt database")

	// ErrDamaged means that the tree of the newest transaction cannot be followed, or that pages are missing.
	ErrDamaged = errors.New("damaged bbolt database")

	// ErrNotEtcd means that the file is a bbolt database, but has not the buckets of etcd's.
	ErrNotEtcd = errors.New("not a database of etcd")
)

// Facts are what the newest transaction in the file says.
type Facts struct {
	Revision        int64  // that etcd has after it started on this database; 1 if nothing was ever written
	CompactRevision int64  // up to which there is no history, also if etcd has only planned to delete it; 0: none
	ConsistentIndex uint64 // of the last raft entry in it; 0 if it has none
	StorageVersion  string // "3.6.0": the oldest etcd that can read it; empty before etcd 3.6 and in a cluster's first seconds
	ClusterVersion  string // "3.5.0"; empty if the cluster had not agreed on one
	PageSize        int    // bytes
	Pages           uint64 // which the file must have
}

const (
	// SmallestPage and LargestPage are those of databases that are read, here and wherever else. Pages may be as large as those of the
	// kernels that etcd runs on, and as small as bbolt looks for. bbolt itself looks for up to 16 MiB, of which no kernel has any.
	SmallestPage, LargestPage = 1 << 10, 1 << 16

	// window is how many pages are there when a page is looked at: its own, and those into which the content
	// of a root page can run over. bbolt puts up to four buckets that are kept in their parent, of a quarter
	// page each, into one page; see splitIndex and maxInlineBucketSize there.
	window = 4

	// head is what is read before the size of a page is known: the second meta page is in it whatever it is.
	head = LargestPage + pageHeader + metaSize
)

// Parser is an io.Writer for the file, from its first byte on. The zero value is ready.
type Parser struct {
	buffer []byte // what is not looked at yet; it begins with page next
	next   uint64
	meta   meta // its page size is 0 until the meta pages have passed
	err    error

	pages   table
	pending map[uint64][]capture // by the page in which the key lies
	roots   roots
}

// Write takes the next bytes of the file. It never fails: what is wrong is known when all has passed.
func (p *Parser) Write(b []byte) (int, error) {
	taken := len(b)
	for len(b) > 0 && p.err == nil {
		if p.buffer == nil {
			p.buffer = make([]byte, 0, 2*window*LargestPage)
		}
		n := min(len(b), cap(p.buffer)-len(p.buffer))
		p.buffer = append(p.buffer, b[:n]...)
		b = b[n:]
		p.advance(false)
	}
	return taken, nil
}

// Facts is to be called once, after the last byte of the file.
func (p *Parser) Facts() (Facts, error) {
	p.advance(true)
	if p.err != nil {
		return Facts{}, p.err
	}
	if p.next < p.meta.pages {
		return Facts{}, fmt.Errorf("%w: it has %d pages of %d", ErrDamaged, p.next, p.meta.pages)
	}
	found, err := p.buckets()
	if err != nil {
		return Facts{}, err
	}
	last, err := p.lastRevision(found)
	if err != nil {
		return Facts{}, err
	}
	compacted := max(found.values.scheduled, found.values.finished)
	return Facts{
		// etcd's store.restore: never below a compaction, whose revision may be a deletion that is gone.
		Revision:        max(1, last, compacted),
		CompactRevision: compacted,
		ConsistentIndex: found.values.index,
		StorageVersion:  found.values.storage,
		ClusterVersion:  found.values.cluster,
		PageSize:        p.meta.pageSize,
		Pages:           p.meta.pages,
	}, nil
}

// advance looks at each page that has enough of what follows it in the buffer, or at all if the file has ended.
func (p *Parser) advance(ended bool) {
	if p.err == nil && p.meta.pageSize == 0 && (ended || len(p.buffer) >= head) {
		p.meta, p.err = newestMeta(p.buffer)
	}
	size := p.meta.pageSize
	if p.err != nil || size == 0 {
		return
	}
	need := window * size
	if ended {
		need = size
	}
	at := 0
	for ; len(p.buffer)-at >= need; at += size {
		p.look(p.next, p.buffer[at:min(len(p.buffer), at+window*size)])
		p.next++
	}
	p.buffer = p.buffer[:copy(p.buffer, p.buffer[at:])]
}
