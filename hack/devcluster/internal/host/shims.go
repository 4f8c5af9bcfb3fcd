// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// KillShims ends the runtime's helpers of one containerd. They are known by
// the socket that they were started with, which is no one else's.
func KillShims(socket string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil || !isShim(raw, socket) {
			continue
		}
		if pid, err := strconv.Atoi(strings.Split(file, "/")[2]); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func isShim(cmdline []byte, socket string) bool {
	args := bytes.Split(cmdline, []byte{0})
	if !strings.HasPrefix(filepath.Base(string(args[0])), "containerd-shim") {
		return false
	}
	for index := range args[:len(args)-1] {
		if string(args[index]) == "-address" && string(args[index+1]) == socket {
			return true
		}
	}
	return false
}

// RemoveShimSockets removes what killed shims left in the shared folder of
// shim sockets; each container's own state says which is its.
func RemoveShimSockets(state string) {
	files, _ := filepath.Glob(filepath.Join(state, "io.containerd.runtime.v2.task", "*", "*", "bootstrap.json"))
	for _, file := range files {
		var shim struct {
			Address string `json:"address"`
		}
		raw, err := os.ReadFile(file)
		if err == nil && json.Unmarshal(raw, &shim) == nil {
			_ = os.Remove(strings.TrimPrefix(shim.Address, "unix://"))
		}
	}
	// Empty folders only.
	_ = os.Remove("/run/containerd/s")
	_ = os.Remove("/run/containerd")
}
