package cluster

import "fmt"

// Computing is an amount of processor, in thousandths of one, and of memory, in bytes; 0 stands for what the spec says.
type Computing struct{ CPU, Memory int64 }

// Usage is what a member's etcd has used, as it says itself.
type Usage struct {
	Member     string
	CPUSeconds float64 // since it started
	Memory     int64   // bytes that are resident now
}

// Scaling is what the compute resources of all members are to become, and why; Why is empty if they are as they are to be.
type Scaling struct {
	Size    Computing
	Why     string
	Refused bool  // a member cannot have it: the others do, and none is given more
	At      int64 // when that was decided, in seconds since 1970
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
