package controllers

import (
	"math/rand/v2"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-operator/etcd-operator/internal/memory"
	"github.com/etcd-operator/etcd-operator/internal/plan"
)

const (
	// again follows a step in etcd, which no watch reports.
	again = time.Millisecond
	// soon is the pause while etcd is about to change.
	soon = 50 * time.Millisecond
	// later is the pause while something outside must change; a watch will tell
	// of most of it sooner.
	later = 5 * time.Second
	// idle is how often a cluster that is as wanted is looked at. It asks etcd and
	// nobody else, and is spread over time so that many clusters do not fall due
	// at once.
	idle = time.Minute
	// rare is how often it is made sure that nobody has changed what Operator Lifecycle
	// Manager was told.
	rare = 5 * time.Minute
)

// result is the only place that says when to look again, given how often the cluster has come to
// the same in a row.
func result(step plan.Step, e memory.Ending, row memory.Row) (ctrl.Result, error) {
	switch {
	case e.Outdated:
		return ctrl.Result{RequeueAfter: row.Doubled(soon)}, nil
	case e.Err != nil:
		return ctrl.Result{}, e.Err
	}
	kind := plan.KindOf(step)
	switch {
	case kind.Look == plan.Rarely:
		return ctrl.Result{RequeueAfter: spread(idle)}, nil
	case kind.Look == plan.Now && row.Times > 1: // what etcd has said that it did is to be done again
		return ctrl.Result{RequeueAfter: row.Doubled(soon)}, nil
	case kind.Look == plan.Now:
		return ctrl.Result{RequeueAfter: again}, nil
	case kind.Look == plan.Soon:
		return ctrl.Result{RequeueAfter: row.Stretched(soon)}, nil
	case kind.Rests:
		return ctrl.Result{RequeueAfter: spread(row.Stretched(later))}, nil
	default: // a step that has changed nothing is told by no watch
		return ctrl.Result{RequeueAfter: spread(row.Doubled(later))}, nil
	}
}

// aside is the pause of an installation that leaves a cluster to another one, or that
// could not find out whether to.
func aside(err error) (ctrl.Result, error) {
	if err != nil {
		return result(plan.Done{}, endingOf(plan.Done{}, err), memory.Row{Times: 1})
	}
	return ctrl.Result{RequeueAfter: spread(leaseDuration)}, nil
}

// recheck is the pause until what Operator Lifecycle Manager is told may be another thing
// although no cluster changes, if that is known.
func recheck(until, now time.Time) ctrl.Result {
	if left := until.Sub(now); !until.IsZero() && left < rare {
		return ctrl.Result{RequeueAfter: max(left, soon)}
	}
	return ctrl.Result{RequeueAfter: spread(rare)}
}

// spread is between the pause and half as long again.
func spread(pause time.Duration) time.Duration {
	return pause + rand.N(pause/2) //nolint:gosec // spreads load, keeps no secret
}
