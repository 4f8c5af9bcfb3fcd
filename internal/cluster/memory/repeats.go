// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

const (
	// unslowed is for how long a wait is looked at as often as at first: what etcd is about to
	// do it does within that time, at its latest by its own pause between two new members
	// (HealthInterval in its server.go).
	unslowed = 5 * time.Second
	// slowing is which part of its own age a wait may last longer because it is looked at rarely.
	slowing = 10
	// slowest is the longest pause of a step that makes no progress.
	slowest = 30 * time.Second
)

// Repeats is a row of looks that all ended the same, so that a step without progress is looked at
// less and less often.
type Repeats struct {
	Times int // the last one included
	what  string
	since time.Time
	lasts time.Duration // from the first to the last one
}

// Row counts a look that has ended with that step, or with that error.
func (m *Cluster) Row(step plan.Step, e Ending, now time.Time) Repeats {
	if what := kindOf(step, e); what != m.row.what {
		m.row = Repeats{what: what, since: now}
	}
	m.row.Times, m.row.lasts = m.row.Times+1, now.Sub(m.row.since)
	return m.row
}

// kindOf is the same for looks that end the same. What etcd is about to do may be waited for in
// many words, and what has changed meanwhile may be another object each time.
func kindOf(step plan.Step, e Ending) string {
	wait, waits := step.(plan.Wait)
	switch {
	case e.Outdated:
		return "changed meanwhile"
	case e.Err != nil:
		return "failed"
	case waits && wait.Look == plan.Soon:
		return "wait for etcd"
	default:
		return step.String()
	}
}

// Doubled is the pause after a step or an error: at first that one, and twice as long each time.
func (r Repeats) Doubled(pause time.Duration) time.Duration {
	return min(pause<<min(r.Times-1, 16), slowest)
}

// Stretched is the pause of a wait: at first that one, and then a part of how long it lasts.
func (r Repeats) Stretched(pause time.Duration) time.Duration {
	return max(pause, min((r.lasts-unslowed)/slowing, slowest))
}
