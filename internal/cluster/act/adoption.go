// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// routeService changes nothing but the selector of a Service of another owner. What that was before is noted on the Service.
func (a *Actor) routeService(ctx context.Context, c *v1beta1.EtcdCluster, s plan.RouteService) error {
	if err := a.mayDisturb(ctx, c, s); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	service := &corev1.Service{}
	if err := a.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: s.Name}, service); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	changed := service.DeepCopy()
	if s.Back {
		var before map[string]string
		if err := json.Unmarshal([]byte(service.Annotations[v1beta1.AnnotationSourceSelector]), &before); err != nil {
			return fmt.Errorf("%s: read its annotation %s: %w", s, v1beta1.AnnotationSourceSelector, err)
		}
		changed.Spec.Selector = before
		delete(changed.Annotations, v1beta1.AnnotationSourceSelector)
	} else {
		before, err := json.Marshal(service.Spec.Selector)
		if err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
		changed.Spec.Selector = maps.Clone(specs.ClientService(c).Spec.Selector)
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1beta1.AnnotationSourceSelector, string(before))
	}
	unchanged := client.MergeFromWithOptions(service, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Patch(ctx, changed, unchanged, patchOptions(changed)...); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return nil
}

func (a *Actor) scaleStatefulSet(ctx context.Context, c *v1beta1.EtcdCluster, s plan.ScaleStatefulSet) error {
	if err := a.mayDisturb(ctx, c, s); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: s.Name}}
	scale := &autoscalingv1.Scale{}
	if err := a.Client.SubResource("scale").Get(ctx, set, scale); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	wanted := int32(s.Replicas) //nolint:gosec // an ordinal
	scale.Spec.Replicas = wanted
	if err := a.Client.SubResource("scale").Update(ctx, set, client.WithSubResourceBody(scale), unseen); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return nil
}

// adoptVolume marks a claim as that of a member of ours, or takes the marks off. It must be there: a member would begin without its data.
func (a *Actor) adoptVolume(ctx context.Context, c *v1beta1.EtcdCluster, s plan.AdoptVolume) error {
	if err := a.fence(ctx, c); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	claim := &corev1.PersistentVolumeClaim{}
	if err := a.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: s.Name}, claim); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	if of := claim.Labels[v1beta1.LabelCluster]; of != "" && of != c.Name {
		return fmt.Errorf("%s: it %w", s, ErrTaken)
	}
	changed := specs.AdoptedVolume(c, claim, s.Directory)
	if s.Back {
		changed = specs.ReleasedVolume(claim)
	}
	unchanged := client.MergeFromWithOptions(claim, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Patch(ctx, changed, unchanged, patchOptions(changed)...); err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return nil
}
