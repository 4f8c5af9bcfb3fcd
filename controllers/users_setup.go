// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// SetupWithManager watches EtcdClusters, and what names them.
func (r *UsersReconciler) SetupWithManager(manager ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(manager).
		For(&v1beta1.EtcdCluster{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: concernsContent})).
		Watches(&v1beta1.EtcdUser{}, toCluster(), builder.WithPredicates(predicate.Funcs{UpdateFunc: isTouched})).
		Watches(&v1beta1.EtcdRole{}, toCluster(), builder.WithPredicates(predicate.Funcs{UpdateFunc: isRespecified})).
		Named("users").WithOptions(options()).Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of users: %w", err)
	}
	return nil
}

// concernsContent drops the events of a cluster after which nothing else is wanted of what its etcd holds, and it does not answer
// otherwise.
func concernsContent(e event.UpdateEvent) bool {
	before, was := e.ObjectOld.(*v1beta1.EtcdCluster)
	after, is := e.ObjectNew.(*v1beta1.EtcdCluster)
	if !was || !is {
		return false
	}
	serves := func(c *v1beta1.EtcdCluster) bool {
		return meta.IsStatusConditionTrue(c.Status.Conditions, v1beta1.ConditionAvailable)
	}
	return isTouched(e) || serves(before) != serves(after) ||
		!equality.Semantic.DeepEqual(before.Status.Authorities, after.Status.Authorities) ||
		before.Status.Operator != after.Status.Operator || before.Status.ClusterID != after.Status.ClusterID ||
		before.IsRestoring() != after.IsRestoring()
}

// isRespecified drops the events of what was only written by us.
func isRespecified(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
		(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
}

// isTouched says whether another field owner has written, for example to have the Secret read again.
func isTouched(e event.UpdateEvent) bool {
	return isRespecified(e) || !maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
}

// toCluster finds the cluster that a user or role names.
func toCluster() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		name := ""
		switch o := object.(type) {
		case *v1beta1.EtcdUser:
			name = o.Spec.Cluster
		case *v1beta1.EtcdRole:
			name = o.Spec.Cluster
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name}}}
	})
}
