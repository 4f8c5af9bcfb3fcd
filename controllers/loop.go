// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operator/etcd-operator/controllers/lease"
	"github.com/etcd-operator/etcd-operator/controllers/metrics"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// reconciler manages one kind of object: it observes, plans, acts and reports. V is all that one look has seen, S its step.
type reconciler[V any, S fmt.Stringer] interface {
	// observe reads all that a decision needs. errIdle and errNotOwner end the look.
	observe(ctx context.Context, key types.NamespacedName) (V, error)
	// plan decides the one next step, and names the rule that decides it.
	plan(view V) (step S, rule string)
	// act carries the step out.
	act(ctx context.Context, view V, step S) error
	// report writes the status and the events. failed is what act has ended with; what is left to be retried of it is returned.
	report(ctx context.Context, view V, step S, failed error) error
	// again is the pause until the next look after one that succeeded; 0: until something changes that is watched.
	again(view V, step S) time.Duration
}

// reconcileOnce looks at one object and takes one step, which is counted by the name of the controller and of the rule. What has changed
// since it was observed is not reported, but looked at again.
func reconcileOnce[V any, S fmt.Stringer](
	ctx context.Context, name string, r reconciler[V, S], key types.NamespacedName,
) (ctrl.Result, error) {
	view, err := r.observe(ctx, key)
	if err != nil {
		return requeue(0, err)
	}
	step, rule := r.plan(view)
	log.FromContext(ctx).V(verbosity(step)).Info("planned "+step.String(), "rule", rule)
	metrics.Steps.WithLabelValues(name, rule).Inc()
	if err = r.act(ctx, view, step); !isOutdated(err) {
		err = r.report(ctx, view, step, err)
	}
	return requeue(r.again(view, step), err)
}

var (
	// errIdle ends a look at what needs none, until something changes that is watched.
	errIdle = errors.New("there is nothing to do")
	// errNotOwner ends a look at a cluster that another installation manages, or none does yet.
	errNotOwner = errors.New("another installation manages it")
	// errRefused ends a look whose report says what Kubernetes refuses.
	errRefused = errors.New("refused by Kubernetes")
)

// The pauses between two looks.
const (
	// immediately: what was written decides what is next.
	immediately = time.Millisecond
	// lookAgain: something else has changed what was looked at.
	lookAgain = 100 * time.Millisecond
	// progressEvery is how often the log of a Job that runs is read: no watch reports it.
	progressEvery = 2 * time.Second
	// retryRefused is how long what Kubernetes has refused is left alone.
	retryRefused = 30 * time.Second
	// rare is how often changes are looked for that no watch reports.
	rare = 5 * time.Minute
)

// requeue is the only place that says when to look again: after the pause, or by the error that a look has ended with. Others are
// retried by the queue, which waits twice as long each time.
func requeue(pause time.Duration, err error) (ctrl.Result, error) {
	switch {
	case errors.Is(err, errIdle):
		return ctrl.Result{}, nil
	case errors.Is(err, errNotOwner):
		pause = spread(lease.Duration)
	case isOutdated(err):
		pause = lookAgain
	case errors.Is(err, errRefused):
		pause = retryRefused
	case err != nil:
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: pause}, nil
}

// unlessRefused is the error, or errRefused if Kubernetes refuses something. Of several the first one counts: put that of the report
// first, since a refusal that could not be reported is looked at again soon.
func unlessRefused(err error) error {
	if denial(err) != "" {
		return errRefused
	}
	return err
}

// spread is between the pause and half as long again.
func spread(pause time.Duration) time.Duration {
	return pause + rand.N(pause/2) //nolint:gosec // spreads load, keeps no secret
}

// verbosity keeps a line for each step of a cluster that is taken in every log. All others are in verbose ones: Jobs have logs of
// their own.
func verbosity(step fmt.Stringer) int {
	if s, is := step.(plan.Step); is && !plan.Rests(s) {
		return 0
	}
	return 1
}

// until is the pause until a time; 0 if there is none.
func until(due, now time.Time) time.Duration {
	if due.IsZero() {
		return 0
	}
	return max(due.Sub(now), immediately)
}
