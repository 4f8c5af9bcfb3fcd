// Package scale says when members need more of a processor or of memory than they have. Nothing is taken away from them: a database that
// has used its memory once will use it again, and a wrong guess kills a leader.
//
// It is pure, and holds no clock: every look brings its time.
package scale

import (
	"fmt"
	"math"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Range is what members have of one resource, now and at most; both are 0 if it is not scaled. A processor is counted in
// thousandths, memory in bytes.
type Range struct{ Now, Most int64 }

// Look is what is known at one moment.
type Look struct {
	At          time.Time
	Members     int // voters that there are
	Usages      []cluster.Usage
	CPU, Memory Range
}

const (
	// above is the share, in percent, from which on what members have is too little: etcd is throttled, or about to be killed.
	above = 80
	// Memory that is short ends a member; a short burst of work does not matter.
	memoryFor = time.Minute
	cpuFor    = 3 * time.Minute
	// Steps to which amounts are rounded up.
	memoryStep = 32 << 20
	cpuStep    = 50

	uses = "the etcd of %s uses %s"
)

// Watch is what is known of the members of one cluster. Its zero value knows nothing.
type Watch struct {
	last        map[string]earlier
	cpu, memory trend
}

type earlier struct {
	at time.Time
	cluster.Usage
}

// trend is since when a resource was too little, at every look.
type trend struct {
	now  int64
	high time.Time
	most peak
}

// peak is the largest use that was seen at one look.
type peak struct {
	member string
	used   int64
}

// Add takes what members have used at one look, and says which of the two resources they are to have more of.
func (w *Watch) Add(l Look) cluster.Scaling {
	cpu, memory := w.peaks(l)
	w.cpu.add(l, l.CPU, cpu)
	w.memory.add(l, l.Memory, memory)
	if size := w.memory.wanted(l, l.Memory, memoryFor, memoryStep); size != 0 {
		used := fmt.Sprintf("%d of %d MiB of memory", w.memory.most.used>>20, l.Memory.Now>>20)
		return cluster.Scaling{Size: cluster.Computing{Memory: size}, Why: fmt.Sprintf(uses, w.memory.most.member, used)}
	}
	if size := w.cpu.wanted(l, l.CPU, cpuFor, cpuStep); size != 0 {
		used := fmt.Sprintf("%d of %d millicores", w.cpu.most.used, l.CPU.Now)
		return cluster.Scaling{Size: cluster.Computing{CPU: size}, Why: fmt.Sprintf(uses, w.cpu.most.member, used)}
	}
	return cluster.Scaling{}
}

// peaks are the largest uses of all members. One that has begun to count again, or is looked at for the first time, has none of a
// processor.
func (w *Watch) peaks(l Look) (cpu, memory *peak) {
	last, counted := map[string]earlier{}, 0
	cpu, memory = &peak{}, &peak{}
	for _, is := range l.Usages {
		last[is.Member] = earlier{l.At, is}
		if is.Memory > memory.used {
			*memory = peak{is.Member, is.Memory}
		}
		was, known := w.last[is.Member]
		if took := l.At.Sub(was.at); known && took > 0 && is.CPUSeconds >= was.CPUSeconds {
			counted++
			if used := int64(math.Round((is.CPUSeconds - was.CPUSeconds) * 1000 / took.Seconds())); used >= cpu.used {
				*cpu = peak{is.Member, used}
			}
		}
	}
	w.last = last
	if counted < l.Members {
		cpu = nil
	}
	if len(l.Usages) < l.Members {
		memory = nil
	}
	return cpu, memory
}

// add takes the largest use of a look; nil if not every member reported.
func (t *trend) add(l Look, r Range, most *peak) {
	if t.now != r.Now {
		*t = trend{now: r.Now}
	}
	if most == nil {
		return
	}
	t.most = *most
	t.high = since(t.high, l.At, t.most.used >= r.Now/100*above)
}

// since is when something began that still is.
func since(began, at time.Time, is bool) time.Time {
	switch {
	case !is:
		return time.Time{}
	case began.IsZero():
		return at
	default:
		return began
	}
}

// wanted is what members are to have, a half more; 0 if what they have is enough, or all that is allowed.
func (t *trend) wanted(l Look, r Range, highFor time.Duration, step int64) int64 {
	if r.Now >= r.Most || t.high.IsZero() || l.At.Sub(t.high) < highFor {
		return 0
	}
	return next(r, step)
}

// NextMemory is what members that lack memory are to have.
func NextMemory(r Range) int64 { return next(r, memoryStep) }

// next is half as much again, at most what is allowed.
func next(r Range, step int64) int64 { return min(r.Most, roundUp(r.Now/2*3, step)) }

func roundUp(size, step int64) int64 { return (size + step - 1) / step * step }
