package runner

import (
	"math"
	"strconv"
	"strings"
)

// MemoryFile is where Linux says how much memory the processes of a container may use.
const MemoryFile = "/sys/fs/cgroup/memory.max"

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
