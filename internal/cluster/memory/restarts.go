// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// restartTime is how long a member that the operator itself stopped may be away before
// it is reported as down: its image may have to be pulled.
const restartTime = time.Minute

// restarts are the members that this process has stopped on purpose, by name. Another process
// does not know of them and reports them as down, which is the safe mistake.
type restarts map[string]restart

type restart struct {
	since time.Time
	begun bool // it was seen to end
}

// note remembers members that were well until the step stopped them.
func (r *restarts) note(v cluster.View, step plan.Step, now time.Time) {
	for _, member := range stopped(step) {
		if m, _ := v.Member(member); cluster.IsVoter(m) && cluster.IsHealthy(m) {
			if *r == nil {
				*r = restarts{}
			}
			(*r)[member] = restart{since: now}
		}
	}
}

// stopped are the members that a step stops. A surplus member does not come back, and
// etcd removes it in that time.
func stopped(step plan.Step) []string {
	if s, is := step.(plan.UpdateImage); is {
		return []string{s.Name}
	}
	s, _ := step.(plan.DeletePods)
	if s.How == plan.AtOnce {
		return nil
	}
	return plan.Names(s.Pods)
}

// mark says of members in the view that they are being restarted. Those that have come
// back, or should have, are forgotten.
func (r restarts) mark(v cluster.View, now time.Time) {
	for member := range r {
		if _, exists := v.Member(member); !exists {
			delete(r, member)
		}
	}
	for i := range v.Members {
		m := &v.Members[i]
		is, found := r[m.Name]
		steady := cluster.IsSteady(*m)
		switch {
		case !found:
		case now.Sub(is.since) > restartTime, is.begun && steady:
			delete(r, m.Name)
		default:
			m.Restarting = true
			r[m.Name] = restart{since: is.since, begun: is.begun || !steady}
		}
	}
}
