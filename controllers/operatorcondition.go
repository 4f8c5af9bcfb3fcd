// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apiv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/memory"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

const (
	// settles is how long changes of clusters are gathered before they are published.
	settles = time.Second
	// publishes is how long a replica that may not write the condition, or fails to, stays
	// unready. It works without.
	publishes = 10 * time.Second
)

// OperatorConditionReconciler reports to Operator Lifecycle Manager whether an update of the operator
// should wait, in the OperatorCondition that it keeps for each version of an operator.
type OperatorConditionReconciler struct {
	clusters  client.Reader // the cache
	live      client.Client // asks the API server: only this one OperatorCondition may be read
	name      client.ObjectKey
	condition conditions.Condition
	operator  string // the installation whose clusters count
	now       func() time.Time

	published atomic.Bool
	missing   sync.Once
}

// AddOperatorCondition lets the leading replica report its clusters. Each replica reports
// before it is ready that an update may come, if nothing was reported yet.
func AddOperatorCondition(
	manager ctrl.Manager, config *rest.Config, operator string, now func() time.Time,
) (*OperatorConditionReconciler, error) {
	scheme := runtime.NewScheme()
	if err := apiv2.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("build the scheme of OperatorConditions: %w", err)
	}
	live, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make a client for OperatorConditions: %w", err)
	}
	factory := conditions.InClusterFactory{Client: live}
	name, err := factory.GetNamespacedName()
	if err != nil {
		return nil, fmt.Errorf("name the OperatorCondition: %w", err)
	}
	condition, err := factory.NewCondition(apiv2.ConditionType(apiv2.Upgradeable))
	if err != nil {
		return nil, fmt.Errorf("find the OperatorCondition: %w", err)
	}
	u := &OperatorConditionReconciler{
		clusters: manager.GetClient(), live: live, name: *name, condition: condition, operator: operator, now: now,
	}
	if err := errors.Join(manager.Add(publisher{u}), u.setUp(manager)); err != nil {
		return nil, fmt.Errorf("report to Operator Lifecycle Manager whether an update may come: %w", err)
	}
	return u, nil
}

// setUp looks whenever a cluster is created or deleted, or begins or ends to hold an update back, and
// once at the start.
func (u *OperatorConditionReconciler) setUp(manager ctrl.Manager) error {
	request := ctrl.Request{NamespacedName: u.name}
	return ctrl.NewControllerManagedBy(manager).Named("operatorcondition").
		Watches(&v1beta1.EtcdCluster{}, gathered(request), builder.WithPredicates(u.turns())).
		WatchesRawSource(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			queue.Add(request)
			return nil
		})).
		WithOptions(controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](settles, rare),
		}).
		Complete(u)
}

// gathered makes one request of all that happens in a short time.
func gathered(request ctrl.Request) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { q.AddAfter(request, settles) },
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q queue) { q.AddAfter(request, settles) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { q.AddAfter(request, settles) },
	}
}

// turns lets those changes of a cluster pass after which it holds an update back for
// another reason than before.
func (u *OperatorConditionReconciler) turns() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, was := e.ObjectOld.(*v1beta1.EtcdCluster)
		after, is := e.ObjectNew.(*v1beta1.EtcdCluster)
		if !was || !is {
			return false
		}
		now := u.now()
		then, _ := report.Holds(before, u.operator, now)
		reason, _ := report.Holds(after, u.operator, now)
		return then != reason
	}}
}

// Reconcile publishes the condition as it is to be now.
func (u *OperatorConditionReconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var clusters v1beta1.EtcdClusterList
	if err := u.clusters.List(ctx, &clusters); err != nil {
		return ctrl.Result{}, fmt.Errorf("list EtcdClusters: %w", err)
	}
	now := u.now()
	condition, holds := report.Upgradeable(clusters.Items, u.operator, now)
	if err := u.publish(ctx, condition, true); err != nil {
		return ctrl.Result{}, err
	}
	return requeue(recheck(holds, now), nil)
}

// recheck is the pause until the condition for Operator Lifecycle Manager may change
// although no cluster does, if that is known.
func recheck(holds, now time.Time) time.Duration {
	if left := holds.Sub(now); !holds.IsZero() && left < rare {
		return max(left, memory.Soon)
	}
	return spread(rare)
}

// publish writes the condition, unless it is there already; or unless any is there, which is
// not to be replaced. Where no OperatorCondition is kept, no reader waits for it.
func (u *OperatorConditionReconciler) publish(ctx context.Context, condition metav1.Condition, replace bool) error {
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var object apiv2.OperatorCondition
		if err := u.live.Get(ctx, u.name, &object); err != nil {
			return err
		}
		said := meta.FindStatusCondition(object.Spec.Conditions, condition.Type)
		if said != nil && (!replace || isSaid(*said, condition)) {
			return nil
		}
		return u.condition.Set(ctx, condition.Status, conditions.WithReason(condition.Reason), conditions.WithMessage(condition.Message))
	})
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		u.missing.Do(func() {
			log.FromContext(ctx).Info("there is no OperatorCondition "+u.name.String()+": it is not published whether an update may come",
				"because", err.Error())
		})
		return nil
	default:
		return fmt.Errorf("write OperatorCondition %s: %w", u.name.Name, err)
	}
}

func isSaid(said, condition metav1.Condition) bool {
	return said.Status == condition.Status && said.Reason == condition.Reason && said.Message == condition.Message
}

// Ready is an error until the replica has published its first condition.
func (u *OperatorConditionReconciler) Ready(*http.Request) error {
	if !u.published.Load() {
		return errors.New("OperatorCondition " + u.name.Name + " is not written yet")
	}
	return nil
}

// A publisher says for a replica that starts that an update may come.
type publisher struct{ *OperatorConditionReconciler }

// NeedLeaderElection says that it runs on replicas that do not lead.
func (p publisher) NeedLeaderElection() bool { return false }

// Start tries until the condition is published, or has failed to be for too long.
func (p publisher) Start(ctx context.Context) error {
	condition, _ := report.Upgradeable(nil, p.operator, p.now())
	var last error
	err := wait.PollUntilContextTimeout(ctx, settles, publishes, true, func(ctx context.Context) (bool, error) {
		last = p.publish(ctx, condition, false)
		return last == nil, nil
	})
	if err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Info("cannot publish that an update may come, and continues without", "because", fmt.Sprint(last))
	}
	p.published.Store(true)
	return nil
}
