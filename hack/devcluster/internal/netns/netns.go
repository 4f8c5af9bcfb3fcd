// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package netns keeps network namespaces as files, and works inside of them.
package netns

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Make makes a namespace that lives until its file is unmounted. One that is
// there already stays.
func Make(file string) error {
	if Exists(file) {
		return nil
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		return err
	}
	return alone(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make a network namespace: %w", err)
		}
		if err := unix.Mount("/proc/thread-self/ns/net", file, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("keep a network namespace at %s: %w", file, err)
		}
		return nil
	})
}

// Exists says whether the file holds a namespace. After a reboot it may be
// there and hold none.
func Exists(file string) bool {
	var kind unix.Statfs_t
	return unix.Statfs(file, &kind) == nil && kind.Type == unix.NSFS_MAGIC
}

// Do works in the file's namespace, or where it is if there is no file. What
// the work starts by itself stays there; other goroutines do not.
func Do(file string, work func() error) error {
	if file == "" {
		return work()
	}
	return alone(func() error {
		namespace, err := os.Open(file)
		if err != nil {
			return err
		}
		defer namespace.Close()
		if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter %s: %w", file, err)
		}
		return work()
	})
}

// alone works on a thread of its own, which then goes back to where it was.
// One that cannot go back stays locked and ends with the work, so that no
// other goroutine finds itself in another namespace.
func alone(work func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- roundTrip(work)
	}()
	return <-done
}

func roundTrip(work func() error) error {
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer home.Close()
	err = work()
	if unix.Setns(int(home.Fd()), unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	return err
}
