// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"math"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

const (
	// Again follows a step in etcd, which no watch reports.
	Again = time.Millisecond
	// Soon is the pause while etcd is about to change.
	Soon = 50 * time.Millisecond
	// Later is the pause while something outside must change; a watch reports
	// most of it sooner.
	Later = 5 * time.Second
	// Idle is how often a cluster that is as wanted is looked at. It queries only etcd, which reports to nobody that it refuses writes: with
	// half as long again, an alarm is seen within 30 s.
	Idle = 20 * time.Second
)

// The longest pauses before the next look at what nothing reports.
const (
	// comparing is before members whose data was found to differ are compared again, and before a comparison goes on: a member that was
	// asked applies meanwhile what it has not while it was.
	comparing = time.Second
	// fillsSoon is while a database may reach its quota before long, and suspecting while a member may be slow: a slow leader is to be left
	// within a minute.
	fillsSoon, suspecting = 5 * time.Second, 5 * time.Second
	// fillsFast is while so little room is left that applications may fill it between two looks at a cluster that is as wanted.
	fillsFast = 10 * time.Second
)

// Longest is for how long at most a cluster need not be looked at, by what was seen of it.
func (m *Cluster) Longest(v cluster.View) time.Duration {
	switch {
	case v.Hashes.First, len(v.Hashes.Read) > 0:
		return comparing
	case v.Count(cluster.IsVoter, cluster.IsNearQuota) > 0:
		return fillsSoon
	case m.SuspectsSlow():
		return suspecting
	case v.Count(cluster.IsVoter, cluster.HasLittleRoom) > 0:
		return fillsFast
	default:
		return math.MaxInt64
	}
}

// Pause is how long a cluster need not be looked at, by how its last look has ended. A loose
// one may last half as long again, so that many clusters are not due at once.
func (r Repeats) Pause(step plan.Step, e Ending) (pause time.Duration, loose bool) {
	kind := plan.KindOf(step)
	switch {
	case e.Outdated:
		return r.Doubled(Soon), false
	case kind.Requeue == plan.Rarely:
		return Idle, true
	case kind.Requeue == plan.Now && r.Times > 1: // what etcd has said that it did is to be done again
		return r.Doubled(Soon), false
	case kind.Requeue == plan.Now:
		return Again, false
	case kind.Requeue == plan.Soon:
		return r.Stretched(Soon), false
	case kind.Rests:
		return r.Stretched(Later), true
	default: // no watch reports a step that has changed nothing
		return r.Doubled(Later), true
	}
}
