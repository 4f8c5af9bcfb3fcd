// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volumes keeps volumes as files that are mounted through loop
// devices: each has exactly its size, and a full one is full.
package volumes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Store is the folder of one node's volumes.
type Store struct{ Dir string }

// Path is where a volume is mounted.
func (s Store) Path(name string) string { return filepath.Join(s.Dir, name) }

func (s Store) file(name string) string { return filepath.Join(s.Dir, name+".img") }

// Create makes and mounts a volume; again is harmless.
func (s Store) Create(ctx context.Context, name string, size int64) error {
	if _, err := os.Stat(s.file(name)); err == nil {
		return s.Mount(ctx, name)
	}
	fresh := s.file(name) + ".new"
	if err := s.format(ctx, fresh, size); err != nil {
		return err
	}
	if err := os.Rename(fresh, s.file(name)); err != nil {
		return err
	}
	return s.Mount(ctx, name)
}

// smallest is the size that mkfs.xfs refuses to go below unless told so.
const smallest = 300 << 20

// format makes a sparse file with XFS in it. XFS rather than ext4, because
// it is made in milliseconds and because ext4 may only grow in use with
// CAP_SYS_RESOURCE, which many sandboxes lack.
func (s Store) format(ctx context.Context, file string, size int64) error {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	image, err := os.Create(file)
	if err != nil {
		return err
	}
	defer image.Close()
	if err := image.Truncate(size); err != nil {
		return err
	}
	// Sectors of 4 KiB suit every disk below, also one that takes nothing smaller directly.
	args := []string{"-q", "-f", "-K", "-s", "size=4096", file}
	if size < smallest {
		args = append([]string{"--unsupported"}, args...)
	}
	return run(ctx, "mkfs.xfs", args...)
}

// Mount mounts a volume that is not mounted, as after a reboot.
func (s Store) Mount(ctx context.Context, name string) error {
	if _, mounted := device(s.Path(name)); mounted {
		return nil
	}
	if err := os.MkdirAll(s.Path(name), 0o755); err != nil {
		return err
	}
	return mount(ctx, s.file(name), s.Path(name))
}

// mount reads and writes the file directly: else the kernel keeps what is in a volume in memory twice, once for the volume and
// once for the file, and a disk is not measured but the memory. A file that cannot be used so is mounted as well. The copy of a volume has
// its UUID, which XFS would refuse beside it.
func mount(ctx context.Context, file, path string) error {
	loop, err := exec.CommandContext(ctx, "losetup", "--find", "--show", "--direct-io=on", file).Output()
	if err != nil {
		return run(ctx, "mount", "-t", "xfs", "-o", "loop,noatime,nouuid", file, path)
	}
	device := strings.TrimSpace(string(loop))
	readAhead(device)
	err = run(ctx, "mount", "-t", "xfs", "-o", "noatime,nouuid", device, path)
	// Detached while it is mounted, the device goes when the volume is unmounted. Without a mount it goes at once.
	if detached := run(ctx, "losetup", "--detach", device); err == nil {
		return detached
	}
	return run(ctx, "mount", "-t", "xfs", "-o", "loop,noatime,nouuid", file, path)
}

// readAheadKiB is what Linux reads ahead of a disk unless it is told otherwise. A loop device takes over what the disk below has:
// with 4 MiB the kernel allocates the page cache in pieces so large that it evicts other pages to find them, with half of the
// memory free, and an etcd that has just read its database reads it again page by page.
const readAheadKiB = "128"

// readAhead sets it. A device for which that is not allowed only is slower.
func readAhead(device string) {
	_ = os.WriteFile(filepath.Join("/sys/block", filepath.Base(device), "queue/read_ahead_kb"), []byte(readAheadKiB), 0)
}

// MountAll mounts every volume of the store.
func (s Store) MountAll(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(s.Dir, "*.img"))
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := s.Mount(ctx, strings.TrimSuffix(filepath.Base(file), ".img")); err != nil {
			return err
		}
	}
	return nil
}

// Grow makes a mounted volume larger while it is in use.
func (s Store) Grow(ctx context.Context, name string, size int64) error {
	loop, mounted := device(s.Path(name))
	if !mounted {
		return fmt.Errorf("volume %s is not mounted", name)
	}
	info, err := os.Stat(s.file(name))
	if err != nil {
		return err
	}
	if info.Size() < size {
		if err := os.Truncate(s.file(name), size); err != nil {
			return err
		}
	}
	if err := run(ctx, "losetup", "--set-capacity", loop); err != nil {
		return err
	}
	return run(ctx, "xfs_growfs", s.Path(name))
}

// Delete unmounts and removes a volume; again is harmless.
func (s Store) Delete(name string) error {
	err := syscall.Unmount(s.Path(name), 0)
	if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("unmount %s: %w", name, err)
	}
	for _, path := range []string{s.Path(name), s.file(name)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// device finds the loop device that is mounted at a path.
func device(path string) (string, bool) {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", false
	}
	defer mounts.Close()
	lines := bufio.NewScanner(mounts)
	for lines.Scan() {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		fields, source := strings.Fields(before), strings.Fields(after)
		if len(fields) > 4 && fields[4] == path && len(source) > 1 {
			return source[1], true
		}
	}
	return "", false
}

func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
