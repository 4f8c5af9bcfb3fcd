// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package datadir

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFullVolume: whatever is full first, the error says so, nothing is left, and it works once
// there is room.
func TestFullVolume(t *testing.T) {
	db := content(t, many(t))
	size := int64(len(db))
	for name, left := range map[string]int64{
		"in the middle of the database": size / 2,
		"when the database grows":       size + 1<<12,
		"in the log":                    size + 40_000_000,
		"in the next segment":           size + 64_000_000 + 30_000_000, // which is not needed
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t, db)
			o.BumpRevision, o.MarkCompacted = 1000, true
			mount(t, o.Folder, size+overhead+1<<20)
			filler := filepath.Join(o.Folder, "filler")
			stream := &during{Reader: bytes.NewReader(db), do: func() { fill(t, filler, left) }}
			err := Make(t.Context(), o, stream)
			if name == "in the next segment" {
				if err != nil {
					t.Error(err)
				}
				completeOrAbsent(t, o)
				return
			}
			if !is(syscall.ENOSPC)(err) {
				t.Errorf("%v", err)
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			nothing(t, o.Folder)
			makes(t, o, db)
		})
	}
}

// TestRoomIsAskedForFirst: a volume that is a little too small is not written to, and one that has just enough is enough.
func TestRoomIsAskedForFirst(t *testing.T) {
	db := content(t, many(t))
	o := options(t, db)
	o.BumpRevision, o.MarkCompacted = 1000, true
	mount(t, o.Folder, o.Size+overhead-1<<20)
	err := Make(t.Context(), o, unread{t})
	if !as[*RoomError](err) {
		t.Errorf("%v", err)
	}
	t.Log(err)
	nothing(t, o.Folder)
	if err := unix.Mount("", o.Folder, "", unix.MS_REMOUNT, size(o.Size+overhead+1<<16)); err != nil {
		t.Fatal(err)
	}
	makes(t, o, db)
}

func TestReadOnlyVolume(t *testing.T) {
	db := small(t)
	o := options(t, db)
	mount(t, o.Folder, 1<<20)
	if err := unix.Mount("", o.Folder, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if err := Make(t.Context(), o, unread{t}); !is(syscall.EROFS)(err) {
		t.Errorf("%v", err)
	}
	nothing(t, o.Folder)
}

// mount puts a file system of that size in the place of a folder, if the test may.
func mount(t *testing.T, folder string, bytes int64) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount")
	}
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, size(bytes)); err != nil {
		t.Skipf("may not mount: %v", err)
	}
	t.Cleanup(func() {
		// At once for everybody else: what etcd's log leaves open after an error is closed with the process.
		if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

func size(bytes int64) string { return fmt.Sprintf("size=%d", bytes) }

// fill leaves so many bytes of a file system.
func fill(t *testing.T, path string, left int64) {
	t.Helper()
	var volume unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &volume); err != nil {
		t.Fatal(err)
	}
	file := must(os.Create(path))(t)
	if _, err := io.CopyN(file, endless{}, int64(volume.Bavail)*volume.Bsize-left); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}
