// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/lzw"
	"compress/zlib"
	"fmt"
	"io"

	"github.com/etcd-operator/etcd-operator/internal/backup/archive/boltstream"
)

// Packing is how a snapshot of another program is compressed.
type Packing string

// The packings that can be read. LZW is that of Go's compress/lzw, not the one of Unix.
const (
	Plain Packing = "none"
	Gzip  Packing = "gzip"
	Zlib  Packing = "zlib"
	LZW   Packing = "lzw"

	notDatabase Packing = ""
)

const lzwWidth = 8 // bits of a literal, as etcd-backup-restore has it

// packingOf tries what the content looks like: each packing counts only if a database is in it. LZW has nothing
// to recognize it by, but the name.
func packingOf(head []byte, named bool) Packing {
	try := []Packing{Plain}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		try = []Packing{Gzip}
	case bytes.HasPrefix(head, []byte{0x78}):
		try = []Packing{Zlib, Plain}
	}
	if named {
		try = append(try, LZW)
	}
	for _, packing := range try {
		if packing.isDatabase(head) {
			return packing
		}
	}
	return notDatabase
}

// isDatabase unpacks the head as far as that goes.
func (p Packing) isDatabase(head []byte) bool {
	stream, err := p.unpack(bytes.NewReader(head))
	if err != nil {
		return false
	}
	start := make([]byte, headSize)
	n, _ := io.ReadFull(stream, start) // a head ends in the middle
	return boltstream.IsDatabase(start[:n])
}

func (p Packing) unpack(stream io.Reader) (io.Reader, error) {
	buffered := bufio.NewReaderSize(stream, snapshotBuffer)
	var unpacked io.Reader
	var err error
	switch p {
	case Plain:
		return buffered, nil
	case Gzip:
		unpacked, err = gzip.NewReader(buffered)
	case Zlib:
		unpacked, err = zlib.NewReader(buffered)
	case LZW:
		unpacked = lzw.NewReader(buffered, lzw.LSB, lzwWidth)
	default:
		return nil, fmt.Errorf("%w, nor a snapshot of etcd", ErrForeign)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", p, err)
	}
	return unpacked, nil
}
