package controllers

import (
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/plan"
)

const (
	// unwillingAfter is for how long a leader may refuse to let members join or leave before
	// another one is asked: three times what etcd wants voters to have been connected for
	// (HealthInterval in its server.go).
	unwillingAfter = 15 * time.Second
	// unwillingFor is how long it is not asked again, if another one can be.
	unwillingFor = 5 * time.Minute
	// unwillingGap ends a row of refusals: the plan wanted something else meanwhile.
	unwillingGap = 5 * time.Second
)

// unwilling are the leaders that have refused this process to let members join or leave for
// longer than etcd needs, while the plan saw nothing wrong (docs/adr/0022). Another process
// asks for itself.
type unwilling struct {
	mutex sync.Mutex
	known map[types.NamespacedName]*doubt
}

// doubt is what is known of the leaders of one cluster.
type doubt struct {
	leader      string // that refuses at present; empty if none does
	first, last time.Time
	since       map[string]time.Time // when those that are unwilling were found to be, by name
}

// note remembers whether the leader has made a change of the membership, or has refused it.
func (u *unwilling) note(name types.NamespacedName, v cluster.View, step plan.Step, err error, now time.Time) {
	if !asksLeader(step) {
		return
	}
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.known == nil {
		u.known = map[types.NamespacedName]*doubt{}
	}
	if u.known[name] == nil {
		u.known[name] = &doubt{since: map[string]time.Time{}}
	}
	leader, _ := v.Leader()
	d := u.known[name]
	switch {
	case !errors.Is(err, etcd.ErrNotReady):
		d.leader = ""
	case d.leader != leader.Name, now.Sub(d.last) > unwillingGap:
		d.leader, d.first, d.last = leader.Name, now, now
	case now.Sub(d.first) < unwillingAfter:
		d.last = now
	default:
		d.last, d.since[leader.Name] = now, now
	}
}

// asksLeader says whether the step lets a member join or leave, which etcd's leader judges by
// its own connections.
func asksLeader(step plan.Step) bool {
	_, adds := step.(plan.AddLearner)
	_, removes := step.(plan.RemoveMember)
	return adds || removes
}

// mark says of members in the view that they are unwilling as leaders.
func (u *unwilling) mark(name types.NamespacedName, v cluster.View, now time.Time) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	d := u.known[name]
	if d == nil {
		return
	}
	for i := range v.Members {
		since, found := d.since[v.Members[i].Name]
		v.Members[i].Unwilling = found && now.Sub(since) < unwillingFor
	}
}

func (u *unwilling) forget(name types.NamespacedName) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	delete(u.known, name)
}
