// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

const (
	// refusesAfter is for how long a leader may refuse to let members join or leave before
	// another one is asked: three times what etcd wants voters to have been connected for
	// (HealthInterval in its server.go).
	refusesAfter = 15 * time.Second
	// refusesFor is how long it is not asked again, if another one can be.
	refusesFor = 5 * time.Minute
	// refusesGap ends a row of refusals: the plan wanted something else meanwhile.
	refusesGap = 5 * time.Second
)

// leaders are those that have refused this process to let members join or leave for longer than
// etcd needs, while the plan saw nothing wrong (docs/adr/0022). Another process asks for itself.
type leaders struct {
	leader      string // that refuses at present; empty if none does
	first, last time.Time
	since       map[string]time.Time // when a leader was found to refuse, by name
}

// note remembers whether the leader has made a change of the membership, or has refused it.
func (l *leaders) note(v cluster.View, step plan.Step, e Ending, now time.Time) {
	if !asksLeader(step) {
		return
	}
	leader, _ := v.Leader()
	switch {
	case !e.NotReady:
		l.leader = ""
	case l.leader != leader.Name, now.Sub(l.last) > refusesGap:
		l.leader, l.first, l.last = leader.Name, now, now
	case now.Sub(l.first) < refusesAfter:
		l.last = now
	default:
		if l.since == nil {
			l.since = map[string]time.Time{}
		}
		l.last, l.since[leader.Name] = now, now
	}
}

// asksLeader says whether the step lets a member join or leave, which etcd's leader judges by
// its own connections.
func asksLeader(step plan.Step) bool {
	_, adds := step.(plan.AddLearner)
	_, removes := step.(plan.RemoveMember)
	return adds || removes
}

// mark says of members in the view that they refuse reconfiguration as leaders.
func (l leaders) mark(v cluster.View, now time.Time) {
	for i := range v.Members {
		since, found := l.since[v.Members[i].Name]
		v.Members[i].RefusesReconfig = found && now.Sub(since) < refusesFor
	}
}
