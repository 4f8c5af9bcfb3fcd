// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scale measures how much of a processor and of memory members use, and for how long that has been much.
//
// It is pure, and holds no clock: every look brings its time.
package scale

import (
	"math"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// Look is what is known at one moment.
type Look struct {
	At      time.Time
	Members int // voters that there are
	Usages  []cluster.Usage
}

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

// Add takes what members have used at one look, and says how much of what they have that is.
func (w *Watch) Add(to *cluster.Autoscale, l Look) {
	cpu, memory := w.peaks(l)
	w.cpu.add(l, &to.CPU, cpu)
	w.memory.add(l, &to.Memory, memory)
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
func (t *trend) add(l Look, to *cluster.Load, most *peak) {
	if t.now != to.Now {
		*t = trend{now: to.Now}
	}
	if most != nil {
		t.most = *most
		t.high = since(t.high, l.At, t.most.used >= to.Now/100*plan.HighLoad)
	}
	if to.Member, to.Used = t.most.member, t.most.used; !t.high.IsZero() {
		to.HighFor = l.At.Sub(t.high)
	}
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
