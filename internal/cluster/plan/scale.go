// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

const (
	// HighLoad is the share, in percent, from which on what members have is too little: etcd is throttled, or about to be killed.
	HighLoad = 80
	// Memory that is short ends a member; a short burst of work does not matter.
	memoryFor = time.Minute
	cpuFor    = 3 * time.Minute
	// killedFor is for how long it counts that a member was killed for want of memory.
	killedFor = 10 * time.Minute
	// Steps to which amounts are rounded up.
	memoryStep = 32 << 20
	cpuStep    = 50
)

// whenShort is what the page of rules says of these figures.
var whenShort = fmt.Sprintf("half as much again, up to autoscale.max, when one uses %d %% of its memory for %g minute or of its processor "+
	"for %g, or was killed for want of memory", HighLoad, memoryFor.Minutes(), cpuFor.Minutes())

// scale is asked early: a member that lacks memory is not well. Nothing is taken away from members: a database that has used its memory
// once will use it again, and a wrong guess kills a leader.
func scale(v cluster.View) Step {
	a := v.Autoscale
	size := cluster.Computing{CPU: a.CPU.Now, Memory: a.Memory.Now}
	switch {
	case !a.Wanted:
		return nil
	case v.Record.Scaled.Refused != "" || v.Count(cluster.IsCramped) > 0:
		return refuseMore(v, size)
	case !a.Resizes:
		return nil
	}
	if all := v.Select(wasKilled(v)); len(all) > 0 && a.Memory.Now < a.Memory.Most {
		size.Memory = more(a.Memory, memoryStep)
		return RecordScaling(v, size, fmt.Sprintf("%s was killed for want of memory: it had %s", all[0].Name, mebibytes(a.Memory.Now)), false)
	}
	switch {
	case isShort(a.Memory, memoryFor):
		size.Memory = more(a.Memory, memoryStep)
		return RecordScaling(v, size, fmt.Sprintf("the etcd of %s uses %d of %s of memory", a.Memory.Member, a.Memory.Used>>20,
			mebibytes(a.Memory.Now)), false)
	case isShort(a.CPU, cpuFor):
		size.CPU = more(a.CPU, cpuStep)
		return RecordScaling(v, size, fmt.Sprintf("the etcd of %s uses %d of %d millicores", a.CPU.Member, a.CPU.Used, a.CPU.Now), false)
	default:
		return nil
	}
}

// refuseMore says once that a member cannot have what it is given, and once that all of them have it. Meanwhile none is given more.
func refuseMore(v cluster.View, size cluster.Computing) Step {
	cramped := v.Select(cluster.IsCramped)
	waits := func(m cluster.Member) bool { return m.Pod.Change == cluster.Resize || m.Pod.Resizing != "" }
	switch was := v.Record.Scaled.Refused; {
	case len(cramped) > 0 && was == "":
		return RecordScaling(v, size, cramped[0].Pod.Cramped, true)
	case len(cramped) == 0 && was != "" && v.Count(waits) == 0:
		return RecordScaling(v, size, "every member has it now", false)
	default:
		return nil
	}
}

// wasKilled says whether the member's etcd was killed for want of memory not long ago, although it had what members are to have now.
func wasKilled(v cluster.View) func(cluster.Member) bool {
	return func(m cluster.Member) bool {
		at := m.Pod.OOMKilled
		return at > v.Record.Scaled.Since && isRecent(v, at, killedFor) && m.Pod.MemoryLimit >= v.Autoscale.MemoryLimit
	}
}

// isShort says whether members have had too little of a resource for that long, and may have more.
func isShort(l cluster.Load, highFor time.Duration) bool {
	return l.Now < l.Most && l.HighFor >= highFor
}

// more is half as much again, at most what is allowed.
func more(l cluster.Load, step int64) int64 { return min(l.Most, (l.Now/2*3+step-1)/step*step) }
