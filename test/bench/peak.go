// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
)

// peakPause is how long the memory of a process that ends may grow without being seen: the kernel keeps the highest, but only as
// long as there is a process.
const peakPause = 50 * time.Millisecond

// followPeak looks for the process of a backup on this machine. What it returns ends that, and says how
// much memory the process held at most, in MiB; 0 if none was seen.
func followPeak(ctx context.Context, backupUID string) (end func() float64) {
	ctx, cancel := context.WithCancel(ctx)
	result := make(chan float64, 1)
	go func() {
		process, highest := "", 0.0
		for sleep(ctx, peakPause) == nil {
			if process == "" {
				process = processOfBackup(backupUID)
			}
			peak, alive := mebibytes(field(filepath.Join(process, "status"), "VmHWM"))
			if !alive {
				process = "" // it has ended; another try of the Job may follow
				continue
			}
			highest = max(highest, peak)
		}
		result <- highest
	}()
	return func() float64 {
		cancel()
		return <-result
	}
}

// processOfBackup is the folder in /proc of the process that has the order for a backup; empty if there is none.
func processOfBackup(uid string) string {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return ""
	}
	for _, path := range all {
		line, err := os.ReadFile(path)
		if err == nil && ordersBackup(line, uid) { // one that has ended is none
			return filepath.Dir(path)
		}
	}
	return ""
}

// ordersBackup says whether one of the arguments, each of which ends with a zero, orders the backup of that UID.
func ordersBackup(commandLine []byte, uid string) bool {
	for argument := range bytes.SplitSeq(commandLine, []byte{0}) {
		if !bytes.HasPrefix(argument, []byte("{")) {
			continue
		}
		order, err := jobspec.ParseOrder(string(argument))
		if err == nil && order.Verb == jobspec.Backup && order.Backup != nil && order.Backup.ID == uid {
			return true
		}
	}
	return false
}

// mebibytes reads a size as /proc/PID/status has it: "12345 kB".
func mebibytes(text string) (float64, bool) {
	digits, ok := strings.CutSuffix(text, " kB")
	if !ok {
		return 0, false
	}
	kilobytes, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
	return kilobytes / 1024, err == nil
}
