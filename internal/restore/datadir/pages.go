// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// bbolt maps a file into memory and follows what is written there. A damaged page leads it out
// of the map, or makes it panic while a goroutine of its own continues to read (DB.freepages), which
// ends the process. verifyPages therefore looks at every page first, as the format says
// (go.etcd.io/bbolt/internal/common: page.go, inode.go).
const (
	headerSize  = 16 // of a page: id, flags, count, overflow
	elementSize = 16

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10
	flagBucket   = 0x01 // of an element of a leaf

	firstPage  = 2       // after the two meta pages
	manyIDs    = 0xFFFF  // the number of IDs of a list of free pages is in its first ID
	longestKey = 1 << 15 // bbolt.MaxKeySize
)

// pageFile is a file of pages, of which each may be visited once.
type pageFile struct {
	ctx     context.Context
	file    io.ReaderAt
	meta    meta
	visited bitmap

	buffer   []byte // the page that was read last
	buffered uint64
}

// verifyPages checks that every page which bbolt will visit is one, is visited once, leads nowhere
// else than to pages, and has its keys in order. It reads the file once, and takes a bit of memory
// for each page.
func verifyPages(ctx context.Context, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	status, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	m, err := newestMeta(file)
	if err != nil {
		return err
	}
	if err := m.fits(status.Size()); err != nil {
		return err
	}
	f := &pageFile{ctx: ctx, file: file, meta: m, buffer: make([]byte, m.pageSize)}
	if err := f.freelist(); err != nil {
		return err
	}
	return f.tree(m.root, limits{})
}

// page is the beginning of a page: its header and its elements.
type page struct {
	id    uint64
	flags uint16
	count int
	size  int64  // with the pages that continue it
	bytes []byte // up to the end of its elements, without what they say
}

// read reads a page with its elements, and refuses one that was visited already.
func (f *pageFile) read(id uint64) (page, error) {
	if err := f.ctx.Err(); err != nil {
		return page{}, err
	}
	if id < firstPage || id >= f.meta.pages {
		return page{}, damaged(id, "is not in the file")
	}
	offset := int64(id) * f.meta.pageSize //nolint:gosec // it is in the file
	if _, err := f.file.ReadAt(f.buffer, offset); err != nil {
		return page{}, fmt.Errorf("read page %d: %w", id, err)
	}
	f.buffered = id
	overflow := uint64(binary.NativeEndian.Uint32(f.buffer[12:]))
	p := page{
		id:    id,
		flags: binary.NativeEndian.Uint16(f.buffer[8:]),
		count: int(binary.NativeEndian.Uint16(f.buffer[10:])),
		size:  int64(overflow+1) * f.meta.pageSize, //nolint:gosec // overflow has 32 bits
	}
	if binary.NativeEndian.Uint64(f.buffer) != id || id+overflow >= f.meta.pages {
		return page{}, damaged(id, "has a header that is not its own")
	}
	for i := id; i <= id+overflow; i++ {
		if f.visited.has(i) {
			return page{}, damaged(i, "is used twice")
		}
		f.visited.set(i)
	}
	return f.elements(p, offset)
}

// elements keeps the elements of a page, and reads on where they do not end with the page.
func (f *pageFile) elements(p page, offset int64) (page, error) {
	end := headerSize + int64(p.count)*elementSize
	if p.flags == flagFreelist {
		end = headerSize + 8 // its length is checked by its own rules
	}
	switch {
	case end > p.size:
		return page{}, damaged(p.id, "has more elements than it has room for")
	case end <= f.meta.pageSize:
		p.bytes = bytes.Clone(f.buffer[:end])
		return p, nil
	}
	p.bytes = make([]byte, end)
	if _, err := f.file.ReadAt(p.bytes, offset); err != nil {
		return page{}, fmt.Errorf("read page %d: %w", p.id, err)
	}
	return p, nil
}

func damaged(id uint64, why string) error {
	return &DamagedError{Why: fmt.Sprintf("page %d %s", id, why)}
}

// limits are the keys between which those of a page must be. No limit is nil.
type limits struct{ from, before []byte }

// tree follows the pages of a bucket, and of the buckets in it.
func (f *pageFile) tree(root uint64, within limits) error {
	p, err := f.read(root)
	if err != nil {
		return err
	}
	switch {
	case p.flags == flagLeaf:
		return f.leaf(p, within)
	case p.flags == flagBranch && p.count > 0:
		return f.branch(p, within)
	}
	return damaged(p.id, fmt.Sprintf("has flags %x and %d elements", p.flags, p.count))
}

// branch follows a page of pages. The keys of each are between its own key and the next one.
func (f *pageFile) branch(p page, within limits) error {
	keys := make([][]byte, 0, p.count+1)
	for at := int64(headerSize); at < int64(len(p.bytes)); at += elementSize {
		element := p.bytes[at:]
		key, err := f.key(p, at+number(element), number(element[4:]))
		if err != nil {
			return err
		}
		keys = append(keys, key)
	}
	if err := inOrder(p, keys, within); err != nil {
		return err
	}
	keys = append(keys, within.before)
	for i := range p.count {
		child := binary.NativeEndian.Uint64(p.bytes[headerSize+i*elementSize+8:])
		if err := f.tree(child, limits{from: keys[i], before: keys[i+1]}); err != nil {
			return err
		}
	}
	return nil
}

func (f *pageFile) leaf(p page, within limits) error {
	keys := make([][]byte, 0, p.count)
	for at := int64(headerSize); at < int64(len(p.bytes)); at += elementSize {
		element := p.bytes[at:]
		from, size := at+number(element[4:]), number(element[8:])
		key, err := f.key(p, from, size)
		if err != nil {
			return err
		}
		keys = append(keys, key)
		if from+size+number(element[12:]) > p.size {
			return damaged(p.id, "has a value outside of it")
		}
	}
	if err := inOrder(p, keys, within); err != nil {
		return err
	}
	return f.buckets(p)
}

// key reads a key of a page, which may be on one that continues it.
func (f *pageFile) key(p page, from, size int64) ([]byte, error) {
	if size > longestKey || from+size > p.size {
		return nil, damaged(p.id, "has a key outside of it")
	}
	if from+size <= int64(len(f.buffer)) && f.buffered == p.id {
		return bytes.Clone(f.buffer[from : from+size]), nil
	}
	key := make([]byte, size)
	if _, err := f.file.ReadAt(key, int64(p.id)*f.meta.pageSize+from); err != nil { //nolint:gosec // it is in the file
		return nil, fmt.Errorf("read page %d: %w", p.id, err)
	}
	return key, nil
}

// inOrder demands what bbolt demands: the first key may be the limit, and each one after it is higher.
func inOrder(p page, keys [][]byte, within limits) error {
	for i, key := range keys {
		switch {
		case i == 0 && bytes.Compare(key, within.from) < 0,
			i > 0 && bytes.Compare(key, keys[i-1]) <= 0,
			within.before != nil && bytes.Compare(key, within.before) >= 0:
			return damaged(p.id, fmt.Sprintf("has key %x out of order", key))
		}
	}
	return nil
}

// buckets follows the buckets among the values of a leaf.
func (f *pageFile) buckets(p page) error {
	for at := int64(headerSize); at < int64(len(p.bytes)); at += elementSize {
		element := p.bytes[at:]
		if number(element)&flagBucket == 0 {
			continue
		}
		if err := f.bucket(p, at+number(element[4:])+number(element[8:]), number(element[12:])); err != nil {
			return err
		}
	}
	return nil
}

// bucket follows a bucket whose header is a value of a leaf. A small one has its only page there, too.
func (f *pageFile) bucket(p page, at, size int64) error {
	const rootSize = 16
	if size < rootSize {
		return damaged(p.id, "has a bucket without a root")
	}
	value := make([]byte, min(size, f.meta.pageSize))
	if _, err := f.file.ReadAt(value, int64(p.id)*f.meta.pageSize+at); err != nil { //nolint:gosec // it is in the file
		return fmt.Errorf("read page %d: %w", p.id, err)
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return f.tree(root, limits{})
	}
	return inlineLeaf(p, value[rootSize:])
}

// inlineLeaf checks the only page of a small bucket, which is a value of another page.
func inlineLeaf(p page, inline []byte) error {
	if len(inline) < headerSize || binary.NativeEndian.Uint16(inline[8:]) != flagLeaf {
		return damaged(p.id, "has a bucket without a page")
	}
	end := headerSize + elementSize*int64(binary.NativeEndian.Uint16(inline[10:]))
	if end > int64(len(inline)) {
		return damaged(p.id, "has a bucket with more elements than it has room for")
	}
	var keys [][]byte
	for at := int64(headerSize); at < end; at += elementSize {
		element := inline[at:]
		key := at + number(element[4:])
		value := key + number(element[8:])
		if number(element)&flagBucket != 0 || value+number(element[12:]) > int64(len(inline)) {
			return damaged(p.id, "has a bucket with a value outside of it")
		}
		keys = append(keys, inline[key:value])
	}
	return inOrder(p, keys, limits{})
}

// number is one of the 32-bit fields of an element, in a type in which sums do not overflow.
func number(field []byte) int64 { return int64(binary.NativeEndian.Uint32(field)) }
