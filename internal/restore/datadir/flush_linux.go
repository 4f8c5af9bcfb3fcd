// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// flush has the disk begin with what was written last, and waits for what was sent to it before. It makes nothing safe: a sync
// does. Where there is no such call, nothing is sent ahead.
func flush(file *os.File, from, size int64) error {
	descriptor := int(file.Fd()) //nolint:gosec // it is small
	err := unix.SyncFileRange(descriptor, from, size, unix.SYNC_FILE_RANGE_WRITE)
	if err == nil && from > 0 {
		const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
		err = unix.SyncFileRange(descriptor, 0, from, all)
	}
	if err == nil || slices.Contains([]error{unix.ENOSYS, unix.EINVAL, unix.ESPIPE, unix.EPERM}, err) {
		return nil
	}
	return fmt.Errorf("write to the disk: %w", err)
}
