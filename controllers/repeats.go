package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/internal/plan"
)

const (
	// unslowed is for how long a wait is looked at as often as at first: what etcd is about to
	// do it does within that time, at its latest by its own pause between two new members
	// (HealthInterval in its server.go).
	unslowed = 5 * time.Second
	// slowing is which part of its own age a wait may last longer because nobody looks.
	slowing = 10
	// slowest is the longest pause of what does not get on.
	slowest = 30 * time.Second
)

// repeats are how each cluster has fared with the same again and again, so that what does not get
// on is looked at less and less often.
type repeats struct {
	mutex sync.Mutex
	known map[types.NamespacedName]repeat
}

// A repeat is a row of looks that all ended the same.
type repeat struct {
	what  string
	since time.Time
	times int           // the last one included
	lasts time.Duration // from the first to the last one
}

// note takes down how a look has ended.
func (r *repeats) note(name types.NamespacedName, step plan.Step, err error, now time.Time) repeat {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	is := r.known[name]
	if what := ending(step, err); what != is.what {
		is = repeat{what: what, since: now}
	}
	is.times, is.lasts = is.times+1, now.Sub(is.since)
	if r.known == nil {
		r.known = map[types.NamespacedName]repeat{}
	}
	r.known[name] = is
	return is
}

// ending is the same for looks that end the same. What etcd is about to do may be waited for in
// many words, and what has changed meanwhile may be another object each time.
func ending(step plan.Step, err error) string {
	wait, waits := step.(plan.Wait)
	switch {
	case isTransient(err):
		return "changed meanwhile"
	case err != nil:
		return "failed"
	case waits && wait.Look == plan.Soon:
		return "wait for etcd"
	default:
		return step.String()
	}
}

func (r *repeats) forget(name types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.known, name)
}

// doubled is the pause after a step or an error: at first that one, and twice as long each time.
func (r repeat) doubled(pause time.Duration) time.Duration {
	return min(pause<<min(r.times-1, 16), slowest)
}

// stretched is the pause of a wait: at first that one, and then a part of how long it lasts.
func (r repeat) stretched(pause time.Duration) time.Duration {
	return max(pause, min((r.lasts-unslowed)/slowing, slowest))
}
