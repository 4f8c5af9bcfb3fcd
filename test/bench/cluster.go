// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// volumeSize is that of each member, where nothing else is said.
const volumeSize = "1Gi"

// requests are what kubeadm asks for the etcd of Kubernetes itself
// (cmd/kubeadm/app/phases/etcd/local.go). Without any, a Pod gets what all
// others leave of a processor, and a benchmark on two of them measures that.
var requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("100Mi")}

// threeMembers is the cluster that is measured: all defaults but its requests, the size of
// its volumes, and that they go with it.
func (b *bench) threeMembers(name string) *v1beta1.EtcdCluster {
	return &v1beta1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace},
		Spec: v1beta1.EtcdClusterSpec{
			Size: ptr.To[int32](3), Resources: v1beta1.Resources{Requests: requests}, DeletionPolicy: v1beta1.Delete,
			Storage: v1beta1.Storage{Size: ptr.To(resource.MustParse(volumeSize))},
		},
	}
}

// smallest is a cluster that costs next to nothing, to have many of them.
func (b *bench) smallest(name string) *v1beta1.EtcdCluster {
	return &v1beta1.EtcdCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: b.namespace},
		Spec: v1beta1.EtcdClusterSpec{
			Size: ptr.To[int32](1), Storage: v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{SizeLimit: resource.MustParse("128Mi")}},
		},
	}
}

// apply makes the operator make a cluster, and says how long that took: until
// every member has answered and the status says that the cluster is available.
func (b *bench) apply(ctx context.Context, cluster *v1beta1.EtcdCluster) (time.Duration, error) {
	begin := time.Now()
	if err := b.client.Create(ctx, cluster); err != nil {
		return 0, fmt.Errorf("create EtcdCluster: %w", err)
	}
	if err := b.answer(ctx, cluster.Name, cluster.Size(), ""); err != nil {
		return 0, err
	}
	err := b.condition(ctx, cluster.Name, v1beta1.ConditionAvailable, metav1.ConditionTrue)
	return time.Since(begin), err
}

// settle waits until the operator says that nothing is left to do, of the spec as it
// is now.
func (b *bench) settle(ctx context.Context, cluster string) error {
	return b.condition(ctx, cluster, v1beta1.ConditionProgressing, metav1.ConditionFalse)
}

func (b *bench) condition(ctx context.Context, cluster, kind string, status metav1.ConditionStatus) error {
	key := client.ObjectKey{Namespace: b.namespace, Name: cluster}
	var asked v1beta1.EtcdCluster
	if err := b.client.Get(ctx, key, &asked); err != nil {
		return fmt.Errorf("get EtcdCluster: %w", err)
	}
	what := fmt.Sprintf("%s=%s of %s", kind, status, cluster)
	return poll(ctx, what, blink, patience, func() (bool, error) {
		var found v1beta1.EtcdCluster
		if err := b.seen.Get(ctx, key, &found); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		return found.Status.ObservedGeneration >= asked.Generation &&
			meta.IsStatusConditionPresentAndEqual(found.Status.Conditions, kind, status), nil
	})
}

// edit changes what is wanted of a cluster.
func (b *bench) edit(ctx context.Context, cluster string, change func(*v1beta1.EtcdClusterSpec)) error {
	var found v1beta1.EtcdCluster
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: cluster}, &found); err != nil {
		return fmt.Errorf("get EtcdCluster: %w", err)
	}
	before := client.MergeFrom(found.DeepCopy())
	change(&found.Spec)
	if err := b.client.Patch(ctx, &found, before); err != nil {
		return fmt.Errorf("edit EtcdCluster: %w", err)
	}
	return nil
}

// remove deletes a cluster of the operator, and waits until all of it is gone.
func (b *bench) remove(ctx context.Context, cluster string) error {
	object := &v1beta1.EtcdCluster{ObjectMeta: metav1.ObjectMeta{Name: cluster, Namespace: b.namespace}}
	if err := b.client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return fmt.Errorf("delete EtcdCluster: %w", err)
	}
	return b.gone(ctx, cluster)
}

// gone waits for Pods, claims and volumes to be gone, and a little longer. Members
// that end together wait seconds for one another, which would be of no use here.
func (b *bench) gone(ctx context.Context, name string) error {
	b.members.Keep(name, nil)
	err := b.client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(b.namespace), client.MatchingLabels{instanceLabel: name},
		client.GracePeriodSeconds(1))
	if err != nil {
		return fmt.Errorf("hurry the pods: %w", err)
	}
	err = poll(ctx, name+" to be gone", 200*time.Millisecond, patience, func() (bool, error) {
		var pods corev1.PodList
		var claims corev1.PersistentVolumeClaimList
		var volumes corev1.PersistentVolumeList
		for _, list := range []client.ObjectList{&pods, &claims} {
			if err := b.client.List(ctx, list, client.InNamespace(b.namespace), client.MatchingLabels{instanceLabel: name}); err != nil {
				return false, fmt.Errorf("list: %w", err)
			}
		}
		if err := b.client.List(ctx, &volumes); err != nil {
			return false, fmt.Errorf("list volumes: %w", err)
		}
		left := len(pods.Items) + len(claims.Items)
		for _, volume := range volumes.Items {
			claim := volume.Spec.ClaimRef
			if claim != nil && claim.Namespace == b.namespace && cluster.Serial(name, claim.Name) >= 0 {
				left++
			}
		}
		return left == 0, nil
	})
	if err != nil {
		return err
	}
	return resting(ctx)
}
