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

// note remembers members that were well until the step stopped them.
func (r *restarts) note(name types.NamespacedName, v cluster.View, step plan.Step, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.known == nil {
		r.known = map[types.NamespacedName]map[string]restart{}
	}
	if r.known[name] == nil {
		r.known[name] = map[string]restart{}
	}
	for _, member := range stopped(step) {
		if m, _ := v.Member(member); cluster.IsVoter(m) && cluster.IsHealthy(m) {
			r.known[name][member] = restart{since: now}
		}
	}
}

// stopped are the members that a step disturbs. Who is dismissed does not come back, and
// etcd removes it in that time.
func stopped(step plan.Step) []string {
	if s, is := step.(plan.UpdateImage); is {
		return []string{s.Name}
	}
	s, _ := step.(plan.DeletePods)
	if s.How == plan.AtOnce {
		return nil
	}
	return namesOf(s.Pods)
}

func namesOf(pods []plan.PodRef) []string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, pod.Name)
	}
	return names
}

// mark says of members in the view that they are being restarted. Those that have come
// back, or should have, are forgotten.
func (r *restarts) mark(name types.NamespacedName, v cluster.View, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	known := r.known[name]
	for member := range known {
		if _, exists := v.Member(member); !exists {
			delete(known, member)
		}
	}
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
