// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers wires observation, plan, act and report to the events of
// Kubernetes.
//
// It must never decide what a cluster needs.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/cache"
	"github.com/etcd-operator/etcd-operator/controllers/metrics"
	"github.com/etcd-operator/etcd-operator/internal/backup/schedule"
	"github.com/etcd-operator/etcd-operator/internal/certs"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
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
	// one. Another one may watch the same clusters: of two, one manages each cluster.
	Installation string

	memories cache.Clusters
	secrets  *cache.Secrets
	figures  *metrics.Clusters
}

// clusterLook is all that one look at an EtcdCluster has seen, what it means, and how its step has ended.
type clusterLook struct {
	cluster.View
	ec      *v1beta1.EtcdCluster
	known   *memory.Cluster
	askedAt time.Time
	step    plan.Step // that is reported: a wait where etcd is not ready for the one that was planned
	ending  memory.Ending
}

// Reconcile looks at one cluster and takes one step towards what is wanted of it.
func (r *EtcdClusterReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return reconcileOnce[*clusterLook, plan.Step](ctx, "etcdcluster", r, request.NamespacedName)
}

func (r *EtcdClusterReconciler) observe(ctx context.Context, key types.NamespacedName) (*clusterLook, error) {
	ec := &v1beta1.EtcdCluster{}
	if err := r.Client.Get(ctx, key, ec); err != nil {
		if apierrors.IsNotFound(err) {
			r.Dialer.Forget(key)
			r.memories.Forget(key)
			r.figures.Forget(key)
		}
		return nil, gone("get EtcdCluster", err)
	}
	if err := r.claimOwnership(ctx, ec); err != nil {
		return nil, err
	}
	r.secrets.Look(ec, slices.Concat(certs.Names(ec), []string{ec.RootSecret()}, ec.SourceSecrets())...)
	known := r.memories.Of(key)
	seen, err := r.Observer.Cluster(ctx, ec, known.Hashes())
	if err != nil {
		return nil, err
	}
	if known.IsSpeedDue(seen.Now) {
		if err := r.Observer.Speed(ctx, &seen); err != nil {
			return nil, err
		}
	}
	return &clusterLook{View: facts.View(seen, known), ec: ec, known: known, askedAt: seen.AskedAt}, nil
}

func (r *EtcdClusterReconciler) plan(look *clusterLook) (plan.Step, string) {
	return plan.Next(look.View)
}

func (r *EtcdClusterReconciler) act(ctx context.Context, look *clusterLook, step plan.Step) error {
	ending := classifyError(step, r.Actor.Do(ctx, look.ec, look.View, step, look.askedAt))
	ending = look.known.Note(look.View, step, ending, r.Actor.Now())
	if ending.NotReady || errors.Is(ending.Err, act.ErrStale) {
		log.FromContext(ctx).V(1).Info("put off", "because", ending.Err.Error())
	}
	look.step, look.ending = waited(step, ending)
	return failureOf(look.ending)
}

// failureOf is the error that the queue waits for. Where something has changed meanwhile nothing has failed.
func failureOf(e memory.Ending) error {
	if e.Outdated {
		return nil
	}
	return e.Err
}

// again looks less and less often at what has ended the same many times, and often at what nothing reports.
func (r *EtcdClusterReconciler) again(look *clusterLook, _ plan.Step) time.Duration {
	pause := pauseAfter(look.step, look.ending, look.known.Row(look.step, look.ending, r.Actor.Now()))
	return min(pause, look.known.Longest(look.View))
}

func pauseAfter(step plan.Step, e memory.Ending, row memory.Repeats) time.Duration {
	pause, loose := row.Pause(step, e)
	if loose {
		pause = spread(pause)
	}
	return pause
}

// report writes the status if it has changed, and says what happened in events.
func (r *EtcdClusterReconciler) report(ctx context.Context, look *clusterLook, _ plan.Step, failed error) error {
	defer func() { r.secrets.Rest(look.ec, failed == nil && look.step == plan.Step(plan.Done{})) }()
	if look.ending.Outdated {
		return nil
	}
	switch {
	case look.Newer != "":
		r.emit(ctx, look.ec, report.NewerStatus(look.View))
	case look.Want.Unclear:
		r.emit(ctx, look.ec, report.UnclearPause(look.View))
	}
	before := look.ec.Status
	after := report.Revised(before, report.Status(look.ec, look.View, look.step, failed), look.View, r.Actor.Now())
	if err := r.show(ctx, look, after); err != nil {
		return errors.Join(failed, err)
	}
	if !equality.Semantic.DeepEqual(before, after) {
		changed := look.ec.DeepCopy()
		changed.Status = after
		if err := reportStatus(ctx, r.Client, changed); err != nil {
			r.emitAll(look, before, before, failed) // the next look emits those of the status, and sees nothing more of the step
			return errors.Join(failed, err)
		}
	}
	r.emitAll(look, before, after, failed)
	return failed
}

// emitAll writes events of the step, and of what is new in the status.
func (r *EtcdClusterReconciler) emitAll(look *clusterLook, before, after v1beta1.EtcdClusterStatus, failed error) {
	for _, event := range report.Events(before, after, look.step, failed) {
		r.Events.Eventf(look.ec, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
	}
}

// show has Prometheus shown what the look has seen, and the backups and drills that the cache knows.
func (r *EtcdClusterReconciler) show(ctx context.Context, look *clusterLook, status v1beta1.EtcdClusterStatus) error {
	var backups v1beta1.EtcdBackupList
	of := client.MatchingFields{v1beta1.FieldCluster: look.ec.Name}
	if err := r.Client.List(ctx, &backups, client.InNamespace(look.ec.Namespace), of); err != nil {
		return fmt.Errorf("list EtcdBackups: %w", err)
	}
	var drills v1beta1.EtcdDrillList
	if err := r.Client.List(ctx, &drills, client.InNamespace(look.ec.Namespace), of); err != nil {
		return fmt.Errorf("list EtcdDrills: %w", err)
	}
	own := slices.DeleteFunc(backups.Items, func(b v1beta1.EtcdBackup) bool { return b.Spec.Cluster != look.ec.Name })
	its := slices.DeleteFunc(drills.Items, func(d v1beta1.EtcdDrill) bool { return d.Spec.Cluster != look.ec.Name })
	r.figures.Set(client.ObjectKeyFromObject(look.ec), slices.Concat(
		report.Figures(status, look.View), report.BackupFigures(own, schedule.Wanted(look.ec)), report.DrillFigures(its)))
	return nil
}
