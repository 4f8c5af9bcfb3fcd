// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

type mount struct{ point, kind string }

func readMounts() ([]mount, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []mount
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if mount, ok := parseMount(lines.Text()); ok {
			all = append(all, mount)
		}
	}
	return all, lines.Err()
}

func parseMount(line string) (mount, bool) {
	before, after, found := strings.Cut(line, " - ")
	fields, kind := strings.Fields(before), strings.Fields(after)
	if !found || len(fields) < 5 || len(kind) < 1 {
		return mount{}, false
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	return mount{point: unescape.Replace(fields[4]), kind: kind[0]}, true
}

// Unmount unmounts everything below the folders, the last mounted first.
func Unmount(folders ...string) error {
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	for index := len(mounts) - 1; index >= 0; index-- {
		point := mounts[index].point
		if !below(point, folders) {
			continue
		}
		if syscall.Unmount(point, 0) == nil {
			continue
		}
		// Someone stands in it; it goes away when they leave.
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil && err != syscall.EINVAL {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
	}
	return nil
}

func below(path string, folders []string) bool {
	for _, folder := range folders {
		if path == folder || strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}

// DetachLoops frees the loop devices whose files are below the folders. A
// mount frees its own; this is for those whose mount died half-way.
func DetachLoops(folders ...string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		backing := strings.TrimSuffix(strings.TrimSpace(string(raw)), " (deleted)")
		if err == nil && below(backing, folders) {
			device := "/dev/" + strings.Split(file, "/")[3]
			_ = exec.Command("losetup", "--detach", device).Run()
		}
	}
}
