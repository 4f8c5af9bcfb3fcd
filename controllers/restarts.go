package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/plan"
)

// restartTime is how long a member that the operator itself stopped may be away before
// it is reported as down: its image may have to be pulled.
const restartTime = time.Minute

// restarts are the members that this process has stopped on purpose. Another process
// does not know of them and reports them as down, which is the safe mistake.
type restarts struct {
	mutex sync.Mutex
	known map[types.NamespacedName]map[string]restart
}

type restart struct {
	since time.Time
	begun bool // it was seen to end
}

// note remembers a member that was well until the step stopped it.
func (r *restarts) note(name types.NamespacedName, v cluster.View, step plan.Step, now time.Time) {
	member := stopped(step)
	if m, _ := v.Member(member); !cluster.IsVoter(m) || !cluster.IsHealthy(m) {
		return
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.known == nil {
		r.known = map[types.NamespacedName]map[string]restart{}
	}
	if r.known[name] == nil {
		r.known[name] = map[string]restart{}
	}
	r.known[name][member] = restart{since: now}
}

// stopped is the member that a step disturbs, if it does.
func stopped(step plan.Step) string {
	if s, is := step.(plan.Stop); is {
		return s.Name
	}
	if s, is := step.(plan.Swap); is {
		return s.Name
	}
	return ""
}

// mark says of members in the view that they are being restarted. Those that have come
// back, or should have, are forgotten.
func (r *restarts) mark(name types.NamespacedName, v cluster.View, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	known := r.known[name]
	for i := range v.Members {
		m := &v.Members[i]
		is, found := known[m.Name]
		steady := cluster.IsSteady(*m)
		switch {
		case !found:
		case now.Sub(is.since) > restartTime, is.begun && steady:
			delete(known, m.Name)
		default:
			m.Restarting = true
			known[m.Name] = restart{since: is.since, begun: is.begun || !steady}
		}
	}
}

func (r *restarts) forget(name types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.known, name)
}
