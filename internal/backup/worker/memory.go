// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"
	"syscall"
)

// GCPercent is how much garbage a Job may have beside what it uses, in per cent: what it uses is the parts on their way,
// whatever the size of the database. It costs some 10 % of a processor (backup-1GiB-memory in docs/benchmarks.md).
const GCPercent = 20

// Where Linux says how much memory the processes of a container may use, and which pages of which files this process has.
const (
	MemoryFile   = "/sys/fs/cgroup/memory.max"
	MappingsFile = "/proc/self/smaps"
)

// MemoryLimit is what the garbage collector is to keep below, in bytes, by the content of MemoryFile: half of it. The
// rest is for what is not the collector's: pages of the program, and of databases that are mapped. Without a limit it
// is MaxInt64, which means none.
func MemoryLimit(content string) int64 {
	limit, err := strconv.ParseInt(strings.TrimSpace(content), 10, 64)
	if err != nil || limit <= 0 {
		return math.MaxInt64
	}
	return limit / 2
}

// ForgetStart gives back the pages of the program that only its start has read, as the kernel would when it is short of
// memory: what is needed again is read again. The operator's program is large, because all of the operator is in it, and a Job
// needs little of that: the same benchmark has 110 MiB without this, and 80 with it.
func ForgetStart(mappings io.Reader) {
	for _, m := range unchanged(mappings) {
		// An error leaves the pages where they are.
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED)
	}
}

// mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// unchanged are the mappings of files that cannot be written to, and of which no page differs from its file: such as a
// linker at run time makes. Only these can be read again.
func unchanged(mappings io.Reader) []mapping {
	var all []mapping
	var current mapping
	isOfFile := false
	for lines := bufio.NewScanner(mappings); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) >= 5 && !strings.HasSuffix(fields[0], ":"):
			current, isOfFile = parseMapping(fields)
		case len(fields) == 3 && fields[0] == "Private_Dirty:" && fields[1] == "0" && isOfFile:
			all = append(all, current)
		}
	}
	return all
}

// parseMapping reads a line such as "00400000-02bf8000 r-xp 00000000 fe:00 9988175 /ko-app/etcd-operator".
func parseMapping(fields []string) (m mapping, isOfFile bool) {
	begin, end, _ := strings.Cut(fields[0], "-")
	from, err := strconv.ParseUint(begin, 16, 64)
	if err != nil {
		return mapping{}, false
	}
	to, err := strconv.ParseUint(end, 16, 64)
	if err != nil || to <= from {
		return mapping{}, false
	}
	isReadOnly := len(fields[1]) == 4 && fields[1][0] == 'r' && fields[1][1] == '-'
	return mapping{uintptr(from), uintptr(to)}, isReadOnly && len(fields) == 6 && strings.HasPrefix(fields[5], "/")
}
