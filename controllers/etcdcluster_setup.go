// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"

	instrumented "github.com/operator-framework/operator-lib/handler"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdclusters/status,verbs=update
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdrestores,verbs=create
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/resize,verbs=patch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates,verbs=get;create;patch
// +kubebuilder:rbac:groups=monitoring.coreos.com,resources=podmonitors;prometheusrules,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=tlsroutes,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=security.openshift.io,resources=securitycontextconstraints,resourceNames=nonroot-v2,verbs=use

// What is in no namespace, and the Leases of other installations, wherever these are. It has a role of its own, which Operator
// Lifecycle Manager grants for the whole cluster also where it grants the other one in some namespaces alone.
// +kubebuilder:rbac:roleName=manager-cluster-role,groups="",resources=persistentvolumes,verbs=get
// +kubebuilder:rbac:roleName=manager-cluster-role,groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:roleName=manager-cluster-role,groups=coordination.k8s.io,resources=leases,resourceNames=etcd-operator.dev,verbs=get

// The rights that only the adoption of a running cluster needs. No installation binds this role: a right to scale StatefulSets is a right
// to stop the programs of other teams.
// +kubebuilder:rbac:roleName=adoption-role,groups=apps,resources=statefulsets,verbs=get
// +kubebuilder:rbac:roleName=adoption-role,groups=apps,resources=statefulsets/scale,verbs=get;update

// SetupWithManager watches EtcdClusters and everything that is made for them.
func (r *EtcdClusterReconciler) SetupWithManager(manager ctrl.Manager) error {
	watches := ctrl.NewControllerManagedBy(manager).
		For(&v1beta1.EtcdCluster{}, builder.WithPredicates(predicate.NewPredicateFuncs(nothing))). // names the kind; the next one looks
		Watches(&v1beta1.EtcdCluster{}, &instrumented.InstrumentedEnqueueRequestForObject[client.Object]{}).
		Watches(&corev1.Pod{}, byLabel()).
		Watches(&corev1.PersistentVolumeClaim{}, byLabel()).
		Watches(&corev1.Service{}, byLabel()).
		Watches(&policyv1.PodDisruptionBudget{}, byLabel()).
		Watches(&networkingv1.NetworkPolicy{}, byLabel()).
		Watches(&v1beta1.EtcdBackup{}, byLabel(), builder.WithPredicates(predicate.NewPredicateFuncs(isAwaited))).
		Watches(&v1beta1.EtcdRestore{}, byLabel(), builder.WithPredicates(predicate.NewPredicateFuncs(isAccepted)))
	if !r.Observer.NoNodes {
		watches = watches.Watches(&corev1.Node{}, r.onNode(), builder.WithPredicates(nodeChanges()))
	}
	return watches.WithOptions(options()).Complete(r)
}

func nothing(client.Object) bool { return false }

// isAwaited says whether something may wait for a backup.
func isAwaited(object client.Object) bool { return object.GetLabels()[v1beta1.LabelAwaited] != "" }

// isAccepted says whether an EtcdRestore was made because a loss of data was accepted.
func isAccepted(object client.Object) bool {
	return object.GetAnnotations()[v1beta1.AnnotationAccepted] != ""
}

// byLabel finds the cluster of an object by its label, because volumes that are
// kept have no owner.
func byLabel() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		name := object.GetLabels()[v1beta1.LabelCluster]
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
	})
}

// onNode finds the clusters that have a Pod on a node, or one that finds no node.
func (r *EtcdClusterReconciler) onNode() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, node client.Object) []reconcile.Request {
		var pods corev1.PodList
		if err := r.Client.List(ctx, &pods); err != nil {
			log.FromContext(ctx).Error(err, "cannot find the clusters with members on node "+node.GetName())
			return nil
		}
		concerned := map[types.NamespacedName]bool{}
		for _, pod := range pods.Items {
			name := pod.Labels[v1beta1.LabelCluster]
			if name != "" && (pod.Spec.NodeName == node.GetName() || pod.Spec.NodeName == "") {
				concerned[types.NamespacedName{Namespace: pod.Namespace, Name: name}] = true
			}
		}
		requests := make([]ctrl.Request, 0, len(concerned))
		for key := range concerned {
			requests = append(requests, ctrl.Request{NamespacedName: key})
		}
		return requests
	})
}

// nodeChanges are those that mean something to a member: its node is cordoned, falls
// silent, is back or is gone. Kubelets write much more than that.
func nodeChanges() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, was := e.ObjectOld.(*corev1.Node)
			after, is := e.ObjectNew.(*corev1.Node)
			return was && is && (before.Spec.Unschedulable != after.Spec.Unschedulable || isReady(before) != isReady(after))
		},
	}
}

func isReady(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
