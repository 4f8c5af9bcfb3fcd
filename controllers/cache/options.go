// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache says what of the API server's objects is kept in memory and for how long, and reads what is not.
//
// It must never list or watch Secrets, which would need the right to read all of them.
package cache

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// Options keep in memory only what the operator made, and of that only what
// it reads.
func Options(namespaces []string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{specs.ManagedByLabel: v1beta1.FieldOwner})}
	chosen := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: ours, &corev1.PersistentVolumeClaim{}: ours, &corev1.Service{}: ours,
			&policyv1.PodDisruptionBudget{}: ours, &networkingv1.NetworkPolicy{}: ours, &batchv1.Job{}: ours,
			&corev1.Node{}:         {Transform: leanNode},
			&v1beta1.EtcdCluster{}: {Transform: withKind},
		},
	}
	for _, namespace := range namespaces {
		if chosen.DefaultNamespaces == nil {
			chosen.DefaultNamespaces = map[string]cache.Config{}
		}
		chosen.DefaultNamespaces[namespace] = cache.Config{}
	}
	return chosen
}

// withKind writes down what kind an EtcdCluster is: Kubernetes does not say it of each in a
// list, and a metric names it.
func withKind(object any) (any, error) {
	if c, is := object.(*v1beta1.EtcdCluster); is {
		c.ManagedFields = nil
		c.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("EtcdCluster"))
	}
	return object, nil
}

// ClientOptions make reads wait for the operator's own writes, so that no step is
// taken twice because the cache is a moment behind. Names that are used once and
// preconditions keep it safe where that is not possible.
func ClientOptions(namespaces []string) client.Options {
	return client.Options{Cache: &client.CacheOptions{
		DisableFor: []client.Object{&corev1.Secret{}}, EnableReadYourWritesConsistency: ptr.To(len(namespaces) < 2),
	}}
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
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeExternalIP {
			lean.Status.Addresses = append(lean.Status.Addresses, address)
		}
	}
	return lean, nil
}
