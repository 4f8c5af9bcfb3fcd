// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// deletePods deletes Pods, and only those that were observed. If a Pod is detached first, the
// time is written on it: etcd removes its member a moment after that.
func (a *Actor) deletePods(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.DeletePods) error {
	if s.How != plan.AtOnce {
		asked := []func() error{func() error { return a.fence(ctx, c) }}
		if s.How == plan.DryRun {
			for _, pod := range s.Pods {
				asked = append(asked, func() error { return a.dryRun(ctx, c, v, pod.Name) })
			}
		}
		if err := atOnce(asked, call); err != nil {
			return err
		}
	}
	return a.inTime(ctx, c, s, func(ctx context.Context) error {
		return atOnce(s.Pods, func(pod plan.PodRef) error { return a.end(ctx, c, v, s.How, pod) })
	})
}

func (a *Actor) end(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, how plan.Deletion, pod plan.PodRef) error {
	switch how {
	case plan.AtOnce:
		return a.deletePod(ctx, c, v, pod, client.GracePeriodSeconds(0))
	case plan.Detached:
		if err := a.change(ctx, c, pod.Name, pod.UID, "", a.detach); err != nil && !errors.Is(err, ErrChanged) {
			return err // one that is gone is no failure, and the deletion reports any other error
		}
	case plan.Plainly, plan.DryRun:
	}
	return a.deletePod(ctx, c, v, pod)
}

func (a *Actor) deletePod(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, ref plan.PodRef, how ...client.DeleteOption) error {
	if m, _ := v.Member(ref.Name); m.Pod.LabelsMissing {
		how = append(how, unseen)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, Namespace: c.Namespace}}
	exactly := client.Preconditions{UID: ptr.To(types.UID(ref.UID))}
	if err := client.IgnoreNotFound(a.Client.Delete(ctx, pod, append(how, exactly)...)); err != nil {
		return fmt.Errorf("delete pod %s: %w", ref.Name, err)
	}
	return nil
}

// updateImage gives a running Pod's container another image, and takes the Pod out of the
// client Service. The kubelet restarts the container; what ran before is written down,
// to detect when that has happened. If the image is already the one that is wanted, because
// this was done before or by another client, the container stays and nothing is awaited. The
// same holds if an admission webhook puts back the image that is there already.
func (a *Actor) updateImage(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.UpdateImage) error {
	if err := a.fence(ctx, c); err != nil {
		return err
	}
	return a.inTime(ctx, c, s, func(ctx context.Context) error { return a.swapImage(ctx, c, v, s) })
}

func (a *Actor) swapImage(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.UpdateImage) error {
	targeted := specs.Targeted(c, v.Target)
	wanted := a.Images.Put(targeted, specs.Pod(targeted, s.Name, specs.Joining{}))
	var had string
	var stored *corev1.Pod // what the API server made of it
	err := a.change(ctx, c, s.Name, s.UID, "", func(pod *corev1.Pod) {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationTemplate, specs.Swapped(pod, wanted))
		image := specs.Etcd(pod).Image
		if !specs.TakeImage(pod, wanted) {
			return
		}
		had, stored = image, pod
		if status := specs.EtcdStatus(pod); status.ContainerID != "" {
			metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationReplaced, status.ContainerID)
		}
		if v.Count(cluster.IsVoter) > 1 {
			a.detach(pod)
		}
	})
	if err != nil || stored == nil || specs.Etcd(stored).Image != had {
		return err
	}
	return a.change(ctx, c, s.Name, s.UID, "", func(pod *corev1.Pod) { delete(pod.Annotations, v1beta1.AnnotationReplaced) })
}

// resize gives a running Pod's container other compute resources, and records
// that only afterwards: until then it is tried again.
func (a *Actor) resize(ctx context.Context, c *v1beta1.EtcdCluster, v cluster.View, s plan.ResizePod) error {
	wanted := specs.Pod(specs.Targeted(c, v.Target), s.Name, specs.Joining{})
	err := a.change(ctx, c, s.Name, s.UID, "resize", func(pod *corev1.Pod) {
		specs.Etcd(pod).Resources = specs.Etcd(wanted).Resources
	})
	if err != nil {
		return err
	}
	return a.change(ctx, c, s.Name, s.UID, "", func(pod *corev1.Pod) {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationTemplate, wanted.Annotations[v1beta1.AnnotationTemplate])
	})
}

// change patches one Pod, and only the one that was observed.
func (a *Actor) change(ctx context.Context, c *v1beta1.EtcdCluster, name, uid, subresource string, edit func(*corev1.Pod)) error {
	var pod corev1.Pod
	if err := a.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, &pod); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read pod %s: %w", name, err)
	}
	if string(pod.UID) != uid {
		return ErrChanged
	}
	edited := pod.DeepCopy()
	if edit(edited); equality.Semantic.DeepEqual(&pod, edited) {
		return nil
	}
	unchanged := client.MergeFromWithOptions(&pod, client.MergeFromWithOptimisticLock{})
	var err error
	if subresource == "" {
		err = a.Client.Patch(ctx, edited, unchanged, patchOptions(edited)...)
	} else {
		err = a.Client.SubResource(subresource).Patch(ctx, edited, unchanged, client.FieldOwner(v1beta1.FieldOwner))
	}
	if err != nil {
		return fmt.Errorf("change pod %s: %w", name, err)
	}
	return nil
}
