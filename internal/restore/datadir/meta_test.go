// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive/boltstream"
)

// TestMetaPagesAreTheFirstTwo: what a client has written into a value is no meta page, wherever the value lies, and both readers of
// databases refuse first pages that contradict each other. bbolt itself takes the page size of page 0, or else of the first meta page.
func TestMetaPagesAreTheFirstTwo(t *testing.T) {
	const old, newer, forged = 7, 8, 1000
	tests := map[string]struct {
		pages map[int]metaPage // by offset
		txid  uint64           // 0: the file is refused
	}{
		"page 1 is newer":                    {map[int]metaPage{0: {4096, old}, 4096: {4096, newer}}, newer},
		"page 0 is newer":                    {map[int]metaPage{0: {4096, newer}, 4096: {4096, old}}, newer},
		"page 1 is torn":                     {map[int]metaPage{0: {4096, old}}, old},
		"page 0 is torn":                     {map[int]metaPage{4096: {4096, old}}, old},
		"a value behind both":                {map[int]metaPage{0: {4096, old}, 4096: {4096, newer}, 65536: {65536, forged}}, newer},
		"a value right behind both":          {map[int]metaPage{0: {4096, old}, 4096: {4096, newer}, 8192: {8192, forged}}, newer},
		"a value, and page 1 is torn":        {map[int]metaPage{0: {4096, old}, 65536: {65536, forged}}, old},
		"a value, and page 0 is torn":        {map[int]metaPage{4096: {4096, old}, 65536: {65536, forged}}, old},
		"large pages":                        {map[int]metaPage{0: {65536, old}, 65536: {65536, newer}}, newer},
		"large pages, and page 0 is torn":    {map[int]metaPage{65536: {65536, newer}}, newer},
		"two page sizes":                     {map[int]metaPage{0: {4096, old}, 4096: {8192, newer}}, 0},
		"two page sizes, and page 0 is torn": {map[int]metaPage{4096: {8192, newer}, 8192: {8192, forged}}, 0},
		"none":                               {nil, 0},
	}
	for name, test := range tests {
		file := make([]byte, 2*largestPage)
		for at, page := range test.pages {
			copy(file[at:], page.encode())
		}
		m, err := newestMeta(bytes.NewReader(file))
		if (err == nil) != (test.txid != 0) || err != nil && !as[*DamagedError](err) || m.txid != test.txid {
			t.Errorf("%s: the page of transaction %d, %v; wanted %d", name, m.txid, err, test.txid)
		}
		if boltstream.IsDatabase(file) != (err == nil) {
			t.Errorf("%s: the reader of snapshots says something else", name)
		}
	}
}

// metaPage is a whole one of a database with pages of that size.
type metaPage struct {
	size uint32
	txid uint64
}

func (p metaPage) encode() []byte {
	content := binary.NativeEndian.AppendUint32(nil, magic)
	content = binary.NativeEndian.AppendUint32(content, formatVersion)
	content = binary.NativeEndian.AppendUint32(content, p.size)
	content = binary.NativeEndian.AppendUint32(content, 0)
	for _, number := range []uint64{3, 0, noFreelist, 4, p.txid} { // root and its sequence, free pages, pages, transaction
		content = binary.NativeEndian.AppendUint64(content, number)
	}
	sum := fnv.New64a()
	_, _ = sum.Write(content) // never fails
	return slices.Concat(make([]byte, headerSize), binary.NativeEndian.AppendUint64(content, sum.Sum64()))
}
