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
	"github.com/etcd-operator/etcd-operator/internal/report"
)

// An installation is all replicas of the operator that share one Lease. Another one
// may watch the same clusters: of two, one looks after each cluster.
type installation struct {
	name string        // of the Lease, with its namespace; empty without one
	live client.Reader // asks the API server itself
	now  func() time.Time
}

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
// moment of a takeover depends on it, because who is in charge is what the status says.
func holdingOf(lease *coordinationv1.Lease, err error, now time.Time) (holding, error) {
	switch {
	case apierrors.IsForbidden(err):
		return hidden, nil
	case apierrors.IsNotFound(err):
		return ended, nil
	case err != nil:
		return held, fmt.Errorf("read the lease of the operator that looks after the cluster: %w", err)
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

// A standing is what an installation may do to a cluster.
type standing int

const (
	// inCharge: look after it.
	inCharge standing = iota
	// first: look after it, and say so with the first status.
	first
	// successor: say so, and look after it then.
	successor
	// passive: change nothing, another one looks after it.
	passive
)

// standingOf says what an installation may do to a cluster of that status. The status
// of a newer operator is not touched; the plan leaves its cluster alone.
func standingOf(ours string, status v1alpha1.EtcdClusterStatus, other holding) standing {
	switch {
	case status.Operator == ours:
		return inCharge
	case status.Operator != "" && other != ended:
		return passive
	case status.Format > v1alpha1.StatusFormat:
		return inCharge
	case status.Operator == "" && status.ObservedGeneration == 0:
		return first
	default:
		return successor
	}
}

// standing asks for the Lease of another installation, if the status names one.
func (i *installation) standing(ctx context.Context, ec *v1alpha1.EtcdCluster) (standing, holding, error) {
	named, other := ec.Status.Operator, ended
	if named != "" && named != i.name {
		var err error
		if other, err = i.holding(ctx, named); err != nil {
			return passive, other, err
		}
	}
	return standingOf(i.name, ec.Status, other), other, nil
}

func (i *installation) holding(ctx context.Context, named string) (holding, error) {
	var lease coordinationv1.Lease
	namespace, name, _ := strings.Cut(named, "/")
	err := i.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &lease)
	return holdingOf(&lease, err, i.now())
}

// takeCharge says whether this installation looks after the cluster. It takes over
// from one that has ended by writing that down before it changes anything else: of
// two that do so at once, the API server refuses one.
func (r *EtcdCluster) takeCharge(ctx context.Context, ec *v1alpha1.EtcdCluster) (bool, error) {
	stand, other, err := r.Installation.standing(ctx, ec)
	if err != nil {
		return false, err
	}
	switch stand {
	case first:
		ec.Status.Operator = r.Installation.name
	case successor:
		return true, r.takeOver(ctx, ec)
	case passive:
		r.Dialer.Forget(client.ObjectKeyFromObject(ec))
		r.tell(ctx, ec, report.OtherOperator(ec.Status.Operator, r.Installation.name, other == hidden))
	case inCharge:
	}
	return stand != passive, nil
}

func (r *EtcdCluster) takeOver(ctx context.Context, ec *v1alpha1.EtcdCluster) error {
	before := ec.Status.Operator
	ec.Status.Operator = r.Installation.name
	if err := r.Client.Status().Update(ctx, ec, client.FieldOwner(v1alpha1.FieldOwner)); err != nil {
		return fmt.Errorf("take the cluster over: %w", err)
	}
	if before != "" {
		r.say(ctx, ec, report.TookOver(before, ec.Status.Operator))
	}
	return nil
}

// tell says something once, for as long as nothing else is to be told of the cluster.
func (r *EtcdCluster) tell(ctx context.Context, ec *v1alpha1.EtcdCluster, event report.Event) {
	if r.memories.of(client.ObjectKeyFromObject(ec)).Told(string(ec.UID) + event.Note) {
		r.say(ctx, ec, event)
	}
}

// say says something that no status holds: in an event, and in the log.
func (r *EtcdCluster) say(ctx context.Context, ec *v1alpha1.EtcdCluster, event report.Event) {
	log.FromContext(ctx).Info(event.Note)
	r.Events.Eventf(ec, nil, event.Type, event.Reason, event.Action, "%s", event.Note)
}
