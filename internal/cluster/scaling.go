// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"time"
)

// Computing is an amount of processor, in thousandths of one, and of memory, in bytes; 0 stands for what the spec says.
type Computing struct{ CPU, Memory int64 }

// Usage is what a member's etcd has used, as it says itself.
type Usage struct {
	Member     string
	CPUSeconds float64 // since it started
	Memory     int64   // bytes that are resident now
}

// Range is what members have of one resource, now and at most; both are 0 if it is not scaled. A processor is counted in thousandths,
// memory in bytes.
type Range struct{ Now, Most int64 }

// Load is the largest use that a member makes of a resource.
type Load struct {
	Range
	Member  string
	Used    int64
	HighFor time.Duration // for how long it has been high, at every look; 0 if it is not, or if this look did not ask for it
}

// Autoscale is what the spec says of compute resources beyond it, and how much of those that members have they use. They are not scaled
// while it is empty.
type Autoscale struct {
	Wanted      bool
	Resizes     bool // Kubernetes can give more to members that run
	CPU, Memory Load
	MemoryLimit int64 // bytes that each is to be limited to now; 0: it is not
}

// Scaled is what members were given beyond the spec.
type Scaled struct {
	Computing
	Since   int64  // when that was decided, in seconds since 1970
	Refused string // why a member could not have it then; empty if each could
}

// Text is an amount as people read it.
func (c Computing) Text() string {
	switch {
	case c.Memory == 0:
		return fmt.Sprintf("%d millicores", c.CPU)
	case c.CPU == 0:
		return fmt.Sprintf("%d MiB of memory", c.Memory>>20)
	default:
		return fmt.Sprintf("%d millicores and %d MiB of memory", c.CPU, c.Memory>>20)
	}
}
