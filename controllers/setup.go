package controllers

import (
	"context"
	"time"

	instrumented "github.com/operator-framework/operator-lib/handler"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdclusters/status,verbs=update
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdclusters/finalizers,verbs=update
// +kubebuilder:rbac:groups=etcd-operator.dev,resources=etcdrestores,verbs=create
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods/resize,verbs=patch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates,verbs=get;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=security.openshift.io,resources=securitycontextconstraints,resourceNames=nonroot-v2,verbs=use

// What is in no namespace, and the Leases of other installations, wherever these are. It has a role of its own, which Operator
// Lifecycle Manager grants for the whole cluster also where it grants the other one in some namespaces alone.
// +kubebuilder:rbac:roleName=manager-cluster-role,groups="",resources=persistentvolumes,verbs=get
// +kubebuilder:rbac:roleName=manager-cluster-role,groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:roleName=manager-cluster-role,groups=coordination.k8s.io,resources=leases,resourceNames=etcd-operator.dev,verbs=get

const (
	// workers is how many clusters are reconciled at once: one that is slow to
	// answer must not hold up the others.
	workers = 16
	// patience bounds one reconcile.
	patience = time.Minute
	// firstRetry and lastRetry bound the pauses after errors.
	firstRetry, lastRetry = 10 * time.Millisecond, 30 * time.Second
)

// SetupWithManager watches EtcdClusters and everything that is made for them.
func (r *EtcdClusterReconciler) SetupWithManager(manager ctrl.Manager) error {
	watches := ctrl.NewControllerManagedBy(manager).
		For(&v1alpha1.EtcdCluster{}, builder.WithPredicates(predicate.NewPredicateFuncs(nothing))). // names the kind; the next one looks
		Watches(&v1alpha1.EtcdCluster{}, &instrumented.InstrumentedEnqueueRequestForObject[client.Object]{}).
		Watches(&corev1.Pod{}, byLabel()).
		Watches(&corev1.PersistentVolumeClaim{}, byLabel()).
		Watches(&corev1.Service{}, byLabel()).
		Watches(&policyv1.PodDisruptionBudget{}, byLabel()).
		Watches(&networkingv1.NetworkPolicy{}, byLabel()).
		Watches(&v1alpha1.EtcdBackup{}, byLabel(), builder.WithPredicates(predicate.NewPredicateFuncs(isAwaited))).
		Watches(&v1alpha1.EtcdRestore{}, byLabel(), builder.WithPredicates(predicate.NewPredicateFuncs(isAccepted)))
	if !r.Observer.NoNodes {
		watches = watches.Watches(&corev1.Node{}, r.onNode(), builder.WithPredicates(nodeChanges()))
	}
	return watches.WithOptions(options()).Complete(r)
}

func options() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		ReconciliationTimeout:   patience,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		UsePriorityQueue:        ptr.To(true),
	}
}

func nothing(client.Object) bool { return false }

// isAwaited says whether something may wait for a backup.
func isAwaited(object client.Object) bool { return object.GetLabels()[v1alpha1.LabelAwaited] != "" }

// isAccepted says whether an EtcdRestore was made because a loss of data was accepted.
func isAccepted(object client.Object) bool {
	return object.GetAnnotations()[v1alpha1.AnnotationAccepted] != ""
}

// byLabel finds the cluster of an object by its label, because volumes that are
// kept have no owner.
func byLabel() handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		name := object.GetLabels()[v1alpha1.LabelCluster]
		if name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
	})
}
