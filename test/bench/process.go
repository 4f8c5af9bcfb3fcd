package main

import (
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
	processes, err := processesOf(uid)
	if err != nil {
		return err
	}
	for _, process := range processes {
		name, _ := os.ReadFile(filepath.Join(process, "comm"))
		if strings.TrimSpace(string(name)) != "etcd" {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(process))
		if err != nil {
			return fmt.Errorf("read the number of process %s: %w", process, err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return fmt.Errorf("kill etcd: %w", err)
		}
		return nil
	}
	return fmt.Errorf("pod %s has no etcd process on this machine", uid)
}
