// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/lease"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

func (r *EtcdClusterReconciler) holding(ctx context.Context, named string) (lease.Holding, error) {
	var theirs coordinationv1.Lease
	namespace, name, _ := strings.Cut(named, "/")
	err := r.Actor.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &theirs)
	return lease.HoldingOf(&theirs, err, r.Actor.Now())
}

// claimOwnership is errNotOwner unless this installation manages the cluster. It takes over
// from one that has ended by writing that down before it changes anything else: of
// two that do so at once, the API server refuses one.
func (r *EtcdClusterReconciler) claimOwnership(ctx context.Context, ec *v1beta1.EtcdCluster) error {
	named := ec.Status.Operator
	if named == r.Installation {
		return nil
	}
	if named != "" {
		other, err := r.holding(ctx, named)
		if err != nil {
			return err
		}
		if other != lease.Ended {
			r.Dialer.Forget(client.ObjectKeyFromObject(ec))
			r.figures.Forget(client.ObjectKeyFromObject(ec)) // the other one shows them
			r.emit(ctx, ec, report.OtherOperator(named, r.Installation, other == lease.Hidden))
			return errNotOwner
		}
	}
	switch {
	case ec.Status.Format > v1beta1.StatusFormat: // not touched: the plan leaves its cluster alone
		return nil
	case named == "" && ec.Status.ObservedGeneration == 0: // said with the first status
		ec.Status.Operator = r.Installation
		return nil
	default:
		return r.takeOver(ctx, ec)
	}
}

func (r *EtcdClusterReconciler) takeOver(ctx context.Context, ec *v1beta1.EtcdCluster) error {
	before := ec.Status.Operator
	ec.Status.Operator = r.Installation
	if err := writeStatus(ctx, r.Client, ec); err != nil {
		return err
	}
	if before != "" {
		r.say(ctx, ec, report.TookOver(before, ec.Status.Operator))
	}
	return nil
}

// emit emits an event once, until another one is emitted for the cluster.
func (r *EtcdClusterReconciler) emit(ctx context.Context, ec *v1beta1.EtcdCluster, event report.Event) {
	if r.memories.Of(client.ObjectKeyFromObject(ec)).NoteChanged(string(ec.UID) + event.Note) {
		r.say(ctx, ec, event)
	}
}

// say says something that no status holds: in an event, and in the log.
func (r *EtcdClusterReconciler) say(ctx context.Context, ec *v1beta1.EtcdCluster, event report.Event) {
	log.FromContext(ctx).Info(event.Note)
	r.Events.Eventf(ec, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
}
