package controllers

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

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
			name := pod.Labels[v1alpha1.LabelCluster]
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

// leanNode keeps in memory what is read of a node.
func leanNode(object any) (any, error) {
	node, is := object.(*corev1.Node)
	if !is {
		return object, nil
	}
	lean := &corev1.Node{ObjectMeta: node.ObjectMeta}
	lean.ManagedFields, lean.Annotations, lean.Labels = nil, nil, nil
	lean.Spec.Unschedulable = node.Spec.Unschedulable
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			condition.Message, condition.LastHeartbeatTime.Time = "", condition.LastTransitionTime.Time
			lean.Status.Conditions = []corev1.NodeCondition{condition}
		}
	}
	return lean, nil
}
