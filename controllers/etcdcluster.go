// Package controllers wires observation, plan, act and report to the events of
// Kubernetes.
//
// It must never decide what a cluster needs.
package controllers

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/dial"
	"github.com/etcd-operator/etcd-operator/internal/observe"
	"github.com/etcd-operator/etcd-operator/internal/plan"
	"github.com/etcd-operator/etcd-operator/internal/report"
)

// EtcdCluster reconciles EtcdClusters.
type EtcdCluster struct {
	Client   client.Client
	Observer *observe.Observer
	Actor    *act.Actor
	Dialer   *dial.Dialer
	Events   events.EventRecorder

	Installation installation
	told         told
	restarts     restarts
	refusals     refusals
	unwilling    unwilling
	repeats      repeats
}

// Reconcile looks at one cluster and takes one step towards what is wanted of it.
func (r *EtcdCluster) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	ec := &v1alpha1.EtcdCluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, ec); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.Dialer.Forget(request.NamespacedName)
			r.told.forget(request.NamespacedName)
			r.restarts.forget(request.NamespacedName)
			r.refusals.forget(request.NamespacedName)
			r.unwilling.forget(request.NamespacedName)
			r.repeats.forget(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get EtcdCluster: %w", err)
	}
	if ours, err := r.takeCharge(ctx, ec); !ours || err != nil {
		return aside(err)
	}
	view, err := r.Observer.Cluster(ctx, ec)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.restarts.mark(request.NamespacedName, view, r.Actor.Now())
	r.refusals.mark(ec, view, r.Actor.Now())
	r.unwilling.mark(request.NamespacedName, view, r.Actor.Now())
	step, because := plan.Next(view)
	log.FromContext(ctx).V(verbosity(step)).Info("planned "+step.String(), "because", because)
	failed := r.refusals.note(ec, step, r.Actor.Do(ctx, ec, view, step), r.Actor.Now())
	r.unwilling.note(request.NamespacedName, view, step, failed, r.Actor.Now())
	step, err = outcome(step, failed)
	if failed != nil && err == nil {
		log.FromContext(ctx).V(1).Info("put off", "because", failed.Error())
	}
	if err == nil {
		r.restarts.note(request.NamespacedName, view, step, r.Actor.Now())
	}
	if !isTransient(err) {
		err = errors.Join(err, r.report(ctx, ec, view, step, err))
	}
	return result(step, err, r.repeats.note(request.NamespacedName, step, err, r.Actor.Now()))
}

// report writes the status if it has changed, and says what happened in events.
func (r *EtcdCluster) report(ctx context.Context, ec *v1alpha1.EtcdCluster, view cluster.View, step plan.Step, failed error) error {
	switch {
	case view.Newer != "":
		r.tell(ctx, ec, report.NewerStatus(view))
	case view.Want.Unclear:
		r.tell(ctx, ec, report.UnclearPause(view))
	}
	before := ec.Status
	after := report.Revised(before, report.Status(ec, view, step, failed), view, r.Actor.Now())
	if !equality.Semantic.DeepEqual(before, after) {
		changed := ec.DeepCopy()
		changed.Status = after
		if err := r.Client.Status().Update(ctx, changed, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
			return fmt.Errorf("write status: %w", err)
		}
	}
	for _, event := range report.Events(before, after, step, failed) {
		r.Events.Eventf(ec, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
	return nil
}

// verbosity keeps a line for each step that is taken in every log, and a line for
// each time that there is nothing to take only in verbose ones.
func verbosity(step plan.Step) int {
	if plan.Rests(step) {
		return 1
	}
	return 0
}
