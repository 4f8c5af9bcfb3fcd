package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// A holding is what is known of the Lease that a status names.
type holding int

const (
	// ended: it is gone, was given up, or was not renewed for too long.
	ended holding = iota
	// held: a replica renews it.
	held
	// hidden: this installation has no right to read it.
	hidden
)

// holdingOf judges a Lease that was read, or the error instead. The times are of two
// machines whose clocks may differ, which is why a holder gets twice its time; only the
// moment of a takeover depends on it, because the status says which one is in charge.
func holdingOf(lease *coordinationv1.Lease, err error, now time.Time) (holding, error) {
	switch {
	case apierrors.IsForbidden(err):
		return hidden, nil
	case apierrors.IsNotFound(err):
		return ended, nil
	case err != nil:
		return held, fmt.Errorf("read the lease of the operator that manages the cluster: %w", err)
	}
	spec := lease.Spec
	lasts := leaseDuration
	if spec.LeaseDurationSeconds != nil {
		lasts = time.Duration(*spec.LeaseDurationSeconds) * time.Second
	}
	if ptr.Deref(spec.HolderIdentity, "") == "" || spec.RenewTime == nil || now.After(spec.RenewTime.Add(2*lasts)) {
		return ended, nil
	}
	return held, nil
}

func (r *EtcdClusterReconciler) holding(ctx context.Context, named string) (holding, error) {
	var lease coordinationv1.Lease
	namespace, name, _ := strings.Cut(named, "/")
	err := r.Actor.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &lease)
	return holdingOf(&lease, err, r.Actor.Now())
}

// claimOwnership is errNotOwner unless this installation manages the cluster. It takes over
// from one that has ended by writing that down before it changes anything else: of
// two that do so at once, the API server refuses one.
func (r *EtcdClusterReconciler) claimOwnership(ctx context.Context, ec *v1alpha1.EtcdCluster) error {
	named := ec.Status.Operator
	if named == r.Installation {
		return nil
	}
	if named != "" {
		other, err := r.holding(ctx, named)
		if err != nil {
			return err
		}
		if other != ended {
			r.Dialer.Forget(client.ObjectKeyFromObject(ec))
			r.emit(ctx, ec, report.OtherOperator(named, r.Installation, other == hidden))
			return errNotOwner
		}
	}
	switch {
	case ec.Status.Format > v1alpha1.StatusFormat: // not touched: the plan leaves its cluster alone
		return nil
	case named == "" && ec.Status.ObservedGeneration == 0: // said with the first status
		ec.Status.Operator = r.Installation
		return nil
	default:
		return r.takeOver(ctx, ec)
	}
}

func (r *EtcdClusterReconciler) takeOver(ctx context.Context, ec *v1alpha1.EtcdCluster) error {
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
func (r *EtcdClusterReconciler) emit(ctx context.Context, ec *v1alpha1.EtcdCluster, event report.Event) {
	if r.memories.of(client.ObjectKeyFromObject(ec)).NoteChanged(string(ec.UID) + event.Note) {
		r.say(ctx, ec, event)
	}
}

// say says something that no status holds: in an event, and in the log.
func (r *EtcdClusterReconciler) say(ctx context.Context, ec *v1alpha1.EtcdCluster, event report.Event) {
	log.FromContext(ctx).Info(event.Note)
	r.Events.Eventf(ec, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
}
