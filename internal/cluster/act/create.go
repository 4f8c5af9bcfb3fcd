// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// ErrTaken means that an object of another owner has a name that the cluster needs. Nothing was written to it.
var ErrTaken = errors.New("exists and has another owner; rename it, or choose another cluster name")

// create makes an object whose name is used once. If it is there already, it must
// be the one that an earlier try made.
func (a *Actor) create(ctx context.Context, c *v1beta1.EtcdCluster, object, existing client.Object) error {
	err := a.Client.Create(ctx, object, client.FieldOwner(v1beta1.FieldOwner))
	if err == nil {
		return nil
	}
	name := object.GetName()
	if !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s: %w", name, err)
	}
	if err := a.Live.Get(ctx, client.ObjectKeyFromObject(object), existing); err != nil {
		return fmt.Errorf("create %s: it existed a moment ago: %w", name, err)
	}
	if !isOurs(c, existing) {
		return fmt.Errorf("create %s: a %T of that name %w", name, existing, ErrTaken)
	}
	return nil
}

// isOurs says whether an object is the cluster's or to be adopted, and was not set aside.
func isOurs(c *v1beta1.EtcdCluster, object client.Object) bool {
	return specs.Foreign(c, object) == "" && object.GetLabels()[v1beta1.LabelQuarantined] == ""
}

// provide creates what a member starts with. If it is there already, it is one that the
// operator sees.
func (a *Actor) provide(ctx context.Context, c *v1beta1.EtcdCluster, object, existing client.Object) error {
	if err := a.create(ctx, c, object, existing); err != nil || existing.GetResourceVersion() == "" {
		return err
	}
	return a.relabel(ctx, c, object, existing)
}

// relabel restores the labels by which an object is found, and its owner, unless it is a
// volume: its owner follows the deletion policy. Without the labels the operator would not
// see the object that it has created.
func (a *Actor) relabel(ctx context.Context, c *v1beta1.EtcdCluster, object, existing client.Object) error {
	changed, _ := existing.DeepCopyObject().(client.Object)
	all := map[string]string{}
	maps.Copy(all, existing.GetLabels())
	for _, label := range []string{specs.ManagedByLabel, v1beta1.LabelCluster, v1beta1.LabelMember} {
		if value, has := object.GetLabels()[label]; has {
			all[label] = value
		}
	}
	changed.SetLabels(all)
	if _, isVolume := existing.(*corev1.PersistentVolumeClaim); !isVolume {
		specs.Own(c, changed)
	}
	if equality.Semantic.DeepEqual(changed, existing) {
		return nil
	}
	unchanged := client.MergeFromWithOptions(existing, client.MergeFromWithOptimisticLock{})
	if err := a.Client.Patch(ctx, changed, unchanged, client.FieldOwner(v1beta1.FieldOwner)); err != nil {
		return fmt.Errorf("label %s: %w", object.GetName(), err)
	}
	return nil
}
