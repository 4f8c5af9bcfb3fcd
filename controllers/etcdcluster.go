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
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/observe"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
	"github.com/etcd-operator/etcd-operator/internal/etcd/connect"
)

// EtcdClusterReconciler reconciles EtcdClusters.
type EtcdClusterReconciler struct {
	Client   client.Client
	Observer *observe.Observer
	Actor    *act.Actor
	Dialer   *connect.Dialer
	Events   events.EventRecorder

	// Installation is the Lease that all its replicas share, with its namespace; empty without
	// one. Another one may watch the same clusters: of two, one looks after each cluster.
	Installation string

	memories clusterCaches
	secrets  *secretMemory
}

// Reconcile looks at one cluster and takes one step towards what is wanted of it.
func (r *EtcdClusterReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	ec := &v1alpha1.EtcdCluster{}
	if err := r.Client.Get(ctx, request.NamespacedName, ec); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.Dialer.Forget(request.NamespacedName)
			r.memories.forget(request.NamespacedName)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get EtcdCluster: %w", err)
	}
	if ours, err := r.claimOwnership(ctx, ec); !ours || err != nil {
		return requeueNotOwner(err)
	}
	r.secrets.look(ec, append(certs.Names(ec), ec.RootSecret())...)
	seen, err := r.Observer.Cluster(ctx, ec)
	if err != nil {
		return ctrl.Result{}, err
	}
	remembered := r.memories.of(request.NamespacedName)
	view := facts.View(seen, remembered)
	step, rule := plan.Next(view)
	log.FromContext(ctx).V(verbosity(step)).Info("planned "+step.String(), "rule", rule)
	ending := remembered.Note(view, step, classifyError(step, r.Actor.Do(ctx, ec, view, step, seen.AskedAt)), r.Actor.Now())
	if ending.NotReady || errors.Is(ending.Err, act.ErrStale) {
		log.FromContext(ctx).V(1).Info("put off", "because", ending.Err.Error())
	}
	if step, ending = waited(step, ending); !ending.Outdated {
		ending = classifyError(step, errors.Join(ending.Err, r.report(ctx, ec, view, step, ending.Err)))
	}
	r.secrets.rest(ec, ending.Err == nil && step == plan.Step(plan.Done{}))
	return result(step, ending, remembered.Row(step, ending, r.Actor.Now()))
}

// report writes the status if it has changed, and says what happened in events.
func (r *EtcdClusterReconciler) report(
	ctx context.Context, ec *v1alpha1.EtcdCluster, view cluster.View, step plan.Step, failed error,
) error {
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
		err := r.Client.Status().Update(ctx, changed, client.FieldOwner(v1alpha1.FieldOwner))
		if err := client.IgnoreNotFound(err); err != nil { // one that was let go may be gone
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
