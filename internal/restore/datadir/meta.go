// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
)

// Where a meta page has what, and what it must say (go.etcd.io/bbolt/internal/common: meta.go).
const (
	metaEnd     = headerSize + 64
	metaSumFrom = metaEnd - 8

	magic, formatVersion = 0xED0CDAED, 2
	noFreelist           = ^uint64(0)

	// What may be restored may be backed up, and the other way round: those of boltstream, as a test proves.
	smallestPage, largestPage = 1 << 10, 1 << 16
)

// meta is what bbolt begins with.
type meta struct {
	pageSize             int64
	root, freelist       uint64 // pages
	pages                uint64 // that the file has, used or not
	txid                 uint64
	checksum, mustBeThat uint64
	content              []byte // of the page, after its header
}

// isMeta says whether a page looks like a meta page; its sum is not looked at.
func isMeta(page []byte) bool {
	return binary.NativeEndian.Uint32(page[16:]) == magic && binary.NativeEndian.Uint32(page[20:]) == formatVersion
}

func parseMeta(page []byte) (meta, bool) {
	if !isMeta(page) {
		return meta{}, false
	}
	sum := fnv.New64a()
	_, _ = sum.Write(page[headerSize:metaSumFrom]) // never fails
	m := meta{
		pageSize:   int64(binary.NativeEndian.Uint32(page[24:])),
		root:       binary.NativeEndian.Uint64(page[32:]),
		freelist:   binary.NativeEndian.Uint64(page[48:]),
		pages:      binary.NativeEndian.Uint64(page[56:]),
		txid:       binary.NativeEndian.Uint64(page[64:]),
		checksum:   binary.NativeEndian.Uint64(page[metaSumFrom:]),
		mustBeThat: sum.Sum64(),
		content:    page[headerSize:metaEnd],
	}
	return m, m.checksum == m.mustBeThat && m.pageSize >= smallestPage && m.pageSize <= largestPage && m.pageSize&(m.pageSize-1) == 0
}

// encode is the content of a meta page that differs in its list of free pages, the number of pages, and the transaction.
func (m meta) encode(freelist, pages, txid uint64) []byte {
	content := bytes.Clone(m.content)
	binary.NativeEndian.PutUint64(content[48-headerSize:], freelist)
	binary.NativeEndian.PutUint64(content[56-headerSize:], pages)
	binary.NativeEndian.PutUint64(content[64-headerSize:], txid)
	sum := fnv.New64a()
	_, _ = sum.Write(content[:metaSumFrom-headerSize]) // never fails
	binary.NativeEndian.PutUint64(content[metaSumFrom-headerSize:], sum.Sum64())
	return content
}

// fits says whether a file of that size has the pages.
func (m meta) fits(size int64) error {
	if m.pages < firstPage || m.pages > uint64(size/m.pageSize) { //nolint:gosec // sizes are positive
		return &DamagedError{Why: fmt.Sprintf("it has %d bytes, which are no %d pages", size, m.pages)}
	}
	return nil
}

// newestMeta takes the newer one of the first two pages, unless its sum is wrong: then bbolt takes the other. Page 0 says where
// page 1 is: what looks like a meta page anywhere else is what a client has written into a value.
func newestMeta(file io.ReaderAt) (meta, error) {
	first, ok, err := metaAt(file, 0)
	if err != nil {
		return meta{}, err
	}
	if !ok {
		return secondMeta(file)
	}
	second, ok, err := metaAt(file, first.pageSize)
	switch {
	case err != nil:
		return meta{}, err
	case !ok:
		return first, nil
	case second.pageSize != first.pageSize:
		return meta{}, &DamagedError{Why: fmt.Sprintf("page 0 says that pages have %d bytes, and page 1 that they have %d", first.pageSize,
			second.pageSize)}
	case second.txid > first.txid:
		return second, nil
	}
	return first, nil
}

// secondMeta is for a file whose page 0 is damaged. bbolt tries the page sizes then, from the smallest on, and the first meta page that it
// finds is page 1 (getPageSizeFromSecondMeta in db.go). That page must say itself that it is there.
func secondMeta(file io.ReaderAt) (meta, error) {
	for size := int64(smallestPage); size <= largestPage; size <<= 1 {
		m, ok, err := metaAt(file, size)
		switch {
		case err != nil:
			return meta{}, err
		case ok && m.pageSize == size:
			return m, nil
		case ok:
			return meta{}, &DamagedError{Why: fmt.Sprintf("page 0 is damaged, and what looks like page 1 is not where it says: pages have %d bytes",
				m.pageSize)}
		}
	}
	return meta{}, &DamagedError{Why: "it is no bbolt file, or both of its first pages are damaged"}
}

// metaAt is the meta page at an offset in bytes; ok is false if there is none.
func metaAt(file io.ReaderAt, offset int64) (m meta, ok bool, err error) {
	page := make([]byte, metaEnd)
	if _, err := file.ReadAt(page, offset); err != nil && !errors.Is(err, io.EOF) {
		return meta{}, false, fmt.Errorf("read database: %w", err)
	}
	m, ok = parseMeta(page)
	return m, ok, nil
}

// freelist checks the list of free pages, which etcd does not write, but other tools do.
func (f *pageFile) freelist() error {
	if f.meta.freelist == noFreelist {
		return nil
	}
	p, err := f.read(f.meta.freelist)
	if err != nil {
		return err
	}
	ids, from := uint64(p.count), int64(headerSize) //nolint:gosec // it has 16 bits
	if p.count == manyIDs {
		ids, from = binary.NativeEndian.Uint64(p.bytes[headerSize:]), headerSize+8
	}
	if p.flags != flagFreelist || ids > uint64(p.size-from)/8 { //nolint:gosec // sizes are positive
		return damaged(p.id, "is no list of free pages")
	}
	list := make([]byte, ids*8)
	if _, err := f.file.ReadAt(list, int64(p.id)*f.meta.pageSize+from); err != nil { //nolint:gosec // it is in the file
		return fmt.Errorf("read page %d: %w", p.id, err)
	}
	for ; len(list) > 0; list = list[8:] {
		if id := binary.NativeEndian.Uint64(list); id < firstPage || id >= f.meta.pages {
			return damaged(id, "is free, and not in the file")
		}
	}
	return nil
}
