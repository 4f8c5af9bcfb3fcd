// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

const flagMeta = 0x04

// sayNothingIsFree gives the database a list of free pages that is empty. etcd keeps no list, and bbolt, which needs one to write,
// reads every page to make it. With this one the transaction that completes the database only adds pages at its end, and leaves
// no list behind, as etcd does: the etcd that starts on it finds the free pages as ever.
//
// What is written is what bbolt would write: a page after the last one, and the older meta page, which names it.
func sayNothingIsFree(path string) (err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	m, err := newestMeta(file)
	if err != nil {
		return err
	}
	status, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	if err := m.fits(status.Size()); err != nil {
		return err
	}
	list, meta := make([]byte, m.pageSize), make([]byte, m.pageSize)
	header(list, m.pages, flagFreelist)
	if _, err := file.WriteAt(list, int64(m.pages)*m.pageSize); err != nil { //nolint:gosec // it fits
		return fmt.Errorf("write list of free pages: %w", err)
	}
	older := (m.txid + 1) % 2
	header(meta, older, flagMeta)
	copy(meta[headerSize:], m.encode(m.pages, m.pages+1, m.txid+1))
	if _, err := file.WriteAt(meta, int64(older)*m.pageSize); err != nil { //nolint:gosec // 0 or 1
		return fmt.Errorf("write list of free pages: %w", err)
	}
	return nil
}

func header(page []byte, id uint64, flags uint16) {
	binary.NativeEndian.PutUint64(page, id)
	binary.NativeEndian.PutUint16(page[8:], flags)
}
