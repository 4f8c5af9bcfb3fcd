// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package provisioner

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/etcd-operator/etcd-operator/hack/devcluster/internal/volumes"
)

// provisionedBy is the annotation that names a volume's provisioner.
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// grower does for loop volumes what a CSI resizer does for disks.
type grower struct {
	client kubernetes.Interface
	store  volumes.Store
	queue  workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

func newGrower(client kubernetes.Interface, store volumes.Store) *grower {
	limiter := workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()
	return &grower{client: client, store: store, queue: workqueue.NewTypedRateLimitingQueue(limiter)}
}

func (g *grower) run(ctx context.Context) {
	factory := informers.NewSharedInformerFactory(g.client, 0)
	claims := factory.Core().V1().PersistentVolumeClaims().Informer()
	_, err := claims.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    g.enqueue,
		UpdateFunc: func(_, now any) { g.enqueue(now) },
	})
	if err != nil {
		log.Printf("watch claims: %v", err)
		return
	}
	factory.Start(ctx.Done())
	for range 4 {
		go g.work(ctx)
	}
	<-ctx.Done()
	g.queue.ShutDown()
}

func (g *grower) enqueue(object any) {
	claim, ok := object.(*corev1.PersistentVolumeClaim)
	if ok && wantsMore(claim) {
		g.queue.Add(cache.MetaObjectToName(claim))
	}
}

func wantsMore(claim *corev1.PersistentVolumeClaim) bool {
	wanted := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return claim.Status.Phase == corev1.ClaimBound && wanted.Cmp(claim.Status.Capacity[corev1.ResourceStorage]) > 0
}

func (g *grower) work(ctx context.Context) {
	for {
		name, ended := g.queue.Get()
		if ended {
			return
		}
		if err := g.grow(ctx, name); err != nil {
			log.Printf("grow %s: %v", name, err)
			g.queue.AddRateLimited(name)
		} else {
			g.queue.Forget(name)
		}
		g.queue.Done(name)
	}
}

func (g *grower) grow(ctx context.Context, name cache.ObjectName) error {
	claim, err := g.client.CoreV1().PersistentVolumeClaims(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || !wantsMore(claim) {
		return err
	}
	volume, err := g.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if volume.Annotations[provisionedBy] != Name || !keeps(g.store, volume) {
		return nil
	}
	wanted := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if err := g.store.Grow(ctx, volume.Name, wanted.Value()); err != nil {
		return err
	}
	log.Printf("grew %s to %s", volume.Name, wanted.String())
	return g.report(ctx, volume, claim)
}

// report writes the volume first: a claim may not exceed its volume.
func (g *grower) report(ctx context.Context, volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) error {
	wanted := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	volume.Spec.Capacity[corev1.ResourceStorage] = wanted
	if _, err := g.client.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update volume: %w", err)
	}
	claim.Status.Capacity[corev1.ResourceStorage] = wanted
	claim.Status.Conditions = nil
	claim.Status.AllocatedResources, claim.Status.AllocatedResourceStatuses = nil, nil
	if _, err := g.client.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update claim: %w", err)
	}
	return nil
}
