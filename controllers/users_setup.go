package controllers

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// SetupWithManager watches EtcdClusters, what names them, and the Secrets of users.
func (r *Users) SetupWithManager(manager ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.EtcdCluster{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: concernsContent})).
		Watches(&v1alpha1.EtcdUser{}, toCluster(), builder.WithPredicates(predicate.Funcs{UpdateFunc: isRespecified})).
		Watches(&v1alpha1.EtcdRole{}, toCluster(), builder.WithPredicates(predicate.Funcs{UpdateFunc: isRespecified})).
		Watches(&corev1.Secret{}, r.ofUser(), builder.WithPredicates(predicate.Funcs{
			CreateFunc: func(e event.CreateEvent) bool { return e.Object.GetLabels()[v1alpha1.LabelUser] == "" }, // those are made by us
			UpdateFunc: hasOtherData,
		})).
		Named("users").WithOptions(options()).Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of users: %w", err)
	}
	return nil
}

// concernsContent drops the events of a cluster after which nothing else is wanted of what its etcd holds, and it does not answer
// otherwise.
func concernsContent(e event.UpdateEvent) bool {
	before, was := e.ObjectOld.(*v1alpha1.EtcdCluster)
	after, is := e.ObjectNew.(*v1alpha1.EtcdCluster)
	if !was || !is {
		return false
	}
	serves := func(c *v1alpha1.EtcdCluster) bool {
		return meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionAvailable)
	}
	return isRespecified(e) || !maps.Equal(before.Annotations, after.Annotations) || serves(before) != serves(after) ||
		before.Status.Operator != after.Status.Operator || before.Status.ClusterID != after.Status.ClusterID ||
		before.IsRestoring() != after.IsRestoring()
}

// isRespecified drops the events of what was only written by us.
func isRespecified(e event.UpdateEvent) bool {
	return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
		(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
}

func hasOtherData(e event.UpdateEvent) bool {
	before, was := e.ObjectOld.(*corev1.Secret)
	after, is := e.ObjectNew.(*corev1.Secret)
	return was && is && !reflect.DeepEqual(before.Data, after.Data)
}

// toCluster finds the cluster that a user or role names.
func toCluster() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		name := ""
		switch o := object.(type) {
		case *v1alpha1.EtcdUser:
			name = o.Spec.Cluster
		case *v1alpha1.EtcdRole:
			name = o.Spec.Cluster
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name}}}
	})
}

// ofUser finds the cluster of the user whose Secret it is, or whose certificates the authority in it signs.
func (r *Users) ofUser() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, object client.Object) []reconcile.Request {
		c := v1alpha1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{
			Namespace: object.GetNamespace(), Name: object.GetLabels()[v1alpha1.LabelCluster],
		}}
		if c.Name != "" && object.GetName() == c.ClientCA() {
			return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(&c)}}
		}
		name := object.GetLabels()[v1alpha1.LabelUser]
		var u v1alpha1.EtcdUser
		if name == "" || r.client.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: name}, &u) != nil {
			return nil
		}
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: u.Namespace, Name: u.Spec.Cluster}}}
	})
}
