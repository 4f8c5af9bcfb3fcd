// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// processesOf are the folders in /proc of a Pod's processes, found by their cgroups.
// There are none if the Pod runs on another machine.
func processesOf(uid string) ([]string, error) {
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	underscored := strings.ReplaceAll(uid, "-", "_")
	var found []string
	for _, group := range groups {
		text, err := os.ReadFile(group)
		if err != nil { // it has ended
			continue
		}
		if strings.Contains(string(text), uid) || strings.Contains(string(text), underscored) {
			found = append(found, filepath.Dir(group))
		}
	}
	return found, nil
}

// kill ends the etcd of a Pod without a word, as a crash would.
func kill(uid string) error {
	pid, err := etcdOf(uid)
	if err != nil {
		return err
	}
	return send(pid, syscall.SIGKILL)
}

// damage overwrites the beginning of a Pod's database, and kills its etcd. It stops it
// before, so that it cannot write the same pages again.
func damage(uid string) error {
	pid, err := etcdOf(uid)
	if err != nil {
		return err
	}
	if err := send(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	path := filepath.Join("/proc", strconv.Itoa(pid), "root/var/lib/etcd/data/member/snap/db")
	return errors.Join(overwrite(path), send(pid, syscall.SIGKILL))
}

// overwrite puts zeros in place of both pages from which bbolt finds all others.
func overwrite(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	_, err = file.WriteAt(make([]byte, 2*os.Getpagesize()), 0)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("damage the database: %w", err)
	}
	return nil
}

func send(pid int, what syscall.Signal) error {
	if err := syscall.Kill(pid, what); err != nil {
		return fmt.Errorf("send process %d %s: %w", pid, what, err)
	}
	return nil
}

// etcdOf is the etcd process of a Pod on this machine.
func etcdOf(uid string) (int, error) { return processNamed(uid, "etcd") }

// processNamed is the process of a program in a Pod on this machine.
func processNamed(uid, program string) (int, error) {
	processes, err := processesOf(uid)
	if err != nil {
		return 0, err
	}
	for _, process := range processes {
		name, err := os.ReadFile(filepath.Join(process, "comm"))
		if err != nil || strings.TrimSpace(string(name)) != program {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil {
			return 0, fmt.Errorf("read the number of process %s: %w", process, err)
		}
		return pid, nil
	}
	return 0, fmt.Errorf("pod %s has no process %s on this machine", uid, program)
}
