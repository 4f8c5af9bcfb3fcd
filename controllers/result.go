package controllers

import (
	"math/rand/v2"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// rare is how often it is made sure that nobody has changed what Operator Lifecycle
// Manager was told.
const rare = 5 * time.Minute

// result is the only place that says when to look again, given how often the cluster has come to
// the same in a row.
func result(step plan.Step, e memory.Ending, row memory.Repeats) (ctrl.Result, error) {
	if e.Err != nil && !e.Outdated {
		return ctrl.Result{}, e.Err
	}
	pause, loose := row.Pause(step, e)
	if loose {
		pause = spread(pause)
	}
	return ctrl.Result{RequeueAfter: pause}, nil
}

// requeueNotOwner is the pause of an installation that leaves a cluster to another one, or that
// could not find out whether to.
func requeueNotOwner(err error) (ctrl.Result, error) {
	if err != nil {
		return result(plan.Done{}, classifyError(plan.Done{}, err), memory.Repeats{Times: 1})
	}
	return ctrl.Result{RequeueAfter: spread(leaseDuration)}, nil
}

// recheck is the pause until what Operator Lifecycle Manager is told may be another thing
// although no cluster changes, if that is known.
func recheck(until, now time.Time) ctrl.Result {
	if left := until.Sub(now); !until.IsZero() && left < rare {
		return ctrl.Result{RequeueAfter: max(left, memory.Soon)}
	}
	return ctrl.Result{RequeueAfter: spread(rare)}
}

// spread is between the pause and half as long again.
func spread(pause time.Duration) time.Duration {
	return pause + rand.N(pause/2) //nolint:gosec // spreads load, keeps no secret
}
