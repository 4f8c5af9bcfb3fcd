// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var errNoCgroups = errors.New("no cgroups are mounted at /sys/fs/cgroup: run this on a machine, or in a container, that has them writable")

// cgroups lists where cgroup hierarchies are mounted, of either version.
func cgroups() ([]string, error) {
	mounts, err := readMounts()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, mount := range mounts {
		if mount.kind == "cgroup" || mount.kind == "cgroup2" {
			all = append(all, mount.point)
		}
	}
	if len(all) == 0 {
		return nil, errNoCgroups
	}
	return all, nil
}

// MakeCgroup makes the path in every hierarchy, ready for the kubelet.
func MakeCgroup(path string) error {
	hierarchies, err := cgroups()
	if err != nil {
		return err
	}
	for _, top := range hierarchies {
		parent := top
		for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
			child := filepath.Join(parent, part)
			if err := os.MkdirAll(child, 0o755); err != nil {
				return fmt.Errorf("cgroups are not writable: %w", err)
			}
			inherit(parent, child)
			parent = child
		}
	}
	return nil
}

// inherit hands down what a new cgroup does not get by itself: version 1
// leaves cpusets empty, version 2 leaves controllers off. What a hierarchy
// does not know, it refuses, and that is fine.
func inherit(parent, child string) {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		if raw, err := os.ReadFile(filepath.Join(parent, name)); err == nil && len(strings.TrimSpace(string(raw))) > 0 {
			_ = os.WriteFile(filepath.Join(child, name), raw, 0o644)
		}
	}
	for _, controller := range []string{"cpu", "cpuset", "memory", "pids", "io", "hugetlb"} {
		_ = os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
	}
}

// Weigh gives all processes below the path a share of busy processors: 1024 is that of one session of a user. Version 2 counts
// from 1 to 10,000 what version 1 counts from 2 to 262,144.
func Weigh(path string, shares int) error {
	hierarchies, err := cgroups()
	if err != nil {
		return err
	}
	for _, top := range hierarchies {
		for file, weight := range map[string]int{"cpu.shares": shares, "cpu.weight": 1 + (shares-2)*9999/262142} {
			file = filepath.Join(top, path, file)
			if _, err := os.Stat(file); err != nil {
				continue // the hierarchy is of another version, or not of processors
			}
			if err := os.WriteFile(file, []byte(strconv.Itoa(weight)), 0o644); err != nil {
				return fmt.Errorf("weigh the cgroup: %w", err)
			}
		}
	}
	return nil
}

// EmptyCgroup kills every process in the path's hierarchies: all of them are
// containers of ours. Then it removes the path.
func EmptyCgroup(path string) error {
	hierarchies, err := cgroups()
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := 0
		for _, top := range hierarchies {
			left += killIn(filepath.Join(top, path))
		}
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes in the cgroup %s do not die", left, path)
		}
	}
	for _, top := range hierarchies {
		if err := removeTree(filepath.Join(top, path)); err != nil {
			return err
		}
	}
	return nil
}

func killIn(dir string) int {
	count := 0
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry == nil || entry.Name() != "cgroup.procs" {
			return nil // a cgroup that is gone meanwhile holds nobody
		}
		raw, _ := os.ReadFile(path)
		for pid := range strings.FieldsSeq(string(raw)) {
			// Zero would be a process of another namespace.
			if number, err := strconv.Atoi(pid); err == nil && number > 1 {
				count++
				_ = syscall.Kill(number, syscall.SIGKILL)
			}
		}
		return nil
	})
	return count
}

// removeTree removes cgroups from the leaves up; a dying process may keep
// one busy for a moment.
func removeTree(dir string) error {
	var folders []string
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		return nil
	})
	for index := len(folders) - 1; index >= 0; index-- {
		var err error
		for range 100 {
			if err = syscall.Rmdir(folders[index]); err == nil || errors.Is(err, syscall.ENOENT) {
				err = nil
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			return fmt.Errorf("remove cgroup %s: %w", folders[index], err)
		}
	}
	return nil
}
