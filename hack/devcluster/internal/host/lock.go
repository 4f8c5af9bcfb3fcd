// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// Lock is the machine's one lock. It is held while a command changes the
// cluster; the owner written in it stays until the cluster is down.
type Lock struct{ file *os.File }

// TakeLock takes the lock, or says who works with it.
func TakeLock(path string) (*Lock, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			lock := Lock{file: file}
			owner := lock.Owner()
			file.Close()
			return nil, busy(owner)
		}
		// The file may have been removed between the open and the lock.
		if same(file, path) {
			return &Lock{file: file}, nil
		}
		file.Close()
	}
}

func busy(owner string) error {
	if owner == "" {
		owner = "another checkout"
	}
	return fmt.Errorf("another devcluster command is at work for %s: wait until it ends", owner)
}

func same(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(path)
	return err == nil && os.SameFile(opened, now)
}

// Owner is the checkout whose cluster this machine runs; empty if none.
func (l *Lock) Owner() string {
	raw := make([]byte, 4096)
	count, _ := l.file.ReadAt(raw, 0)
	return strings.TrimSpace(string(raw[:count]))
}

// Claim writes the checkout that has the machine from now on.
func (l *Lock) Claim(root string) error {
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	_, err := l.file.WriteAt([]byte(root+"\n"), 0)
	return err
}

// Release lets others work; the owner stays.
func (l *Lock) Release() { l.file.Close() }

// Remove gives the machine back.
func (l *Lock) Remove() error { return os.Remove(l.file.Name()) }

// Foreign refuses to touch another checkout's running cluster.
func Foreign(owner string, living int) error {
	return fmt.Errorf("this machine runs the cluster of %s (%d processes): run 'make cluster-down' there first", owner, living)
}
