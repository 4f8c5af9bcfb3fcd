// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package specs makes the Kubernetes objects of a cluster: pure functions from an
// EtcdCluster to an object, one a kind.
//
// It must never hold a client, read a clock or decide anything about a cluster.
package specs

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// ComponentLabel says what a Pod is for. The client Service selects by it, so that a
// member can leave the Service before it is disturbed, and the Pod be left otherwise
// as it is.
const (
	ComponentLabel = "app.kubernetes.io/component"
	Serving        = "etcd"
	Leaving        = "etcd-leaving"
)

// ManagedByLabel names what made an object. The operator's watches see only what it made.
const ManagedByLabel = "app.kubernetes.io/managed-by"

// Labels are on everything that belongs to the cluster
// (https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/).
func Labels(c *v1beta1.EtcdCluster) map[string]string {
	return map[string]string{
		"app.kubernetes.io/name":    "etcd",
		InstanceLabel:               c.Name,
		ComponentLabel:              Serving,
		ManagedByLabel:              v1beta1.FieldOwner,
		"app.kubernetes.io/part-of": v1beta1.FieldOwner,
		v1beta1.LabelCluster:        c.Name,
	}
}

// MemberLabels are on what belongs to one member.
func MemberLabels(c *v1beta1.EtcdCluster, member string) map[string]string {
	all := Labels(c)
	all[v1beta1.LabelMember] = member
	return all
}

// InstanceLabel says whose instance something is.
const InstanceLabel = "app.kubernetes.io/instance"

// VolumeLabels are on volumes. They lack InstanceLabel: volumes that outlive their cluster
// have no owner, and a tool that knows by that label what it has applied, as Argo CD may,
// would take them for its own, miss them in its sources and delete them
// (https://argo-cd.readthedocs.io/en/stable/user-guide/resource_tracking/).
func VolumeLabels(c *v1beta1.EtcdCluster, member string) map[string]string {
	all := MemberLabels(c, member)
	delete(all, InstanceLabel)
	return all
}

// MemberSelector selects the Pods of the cluster's members.
func MemberSelector(c *v1beta1.EtcdCluster) map[string]string {
	return map[string]string{
		ManagedByLabel:       v1beta1.FieldOwner,
		v1beta1.LabelCluster: c.Name,
	}
}

// SelectorText is MemberSelector as the scale subresource wants it.
func SelectorText(c *v1beta1.EtcdCluster) string {
	return labels.SelectorFromSet(MemberSelector(c)).String()
}

// Owner has an object deleted with the cluster.
func Owner(c *v1beta1.EtcdCluster) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v1beta1.OwnerVersion.String(), Kind: "EtcdCluster", Name: c.Name, UID: c.UID,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}
}

// Foreign says why an object in the cluster's place is not the cluster's; empty if it is, or is
// to be adopted.
func Foreign(c *v1beta1.EtcdCluster, object metav1.Object) string {
	owner := metav1.GetControllerOf(object)
	_, isVolume := object.(*corev1.PersistentVolumeClaim)
	switch {
	case owner != nil && owner.UID == c.UID:
		return ""
	case owner != nil:
		return fmt.Sprintf("it belongs to %s %s", owner.Kind, owner.Name)
	case isVolume:
		return stranger(c, object)
	case IsAbandoned(c, object):
		return ""
	default:
		return "no EtcdCluster owns it"
	}
}

// IsMarked says whether a Secret of a name that the cluster needs is marked as the cluster's, by its owner or by what made it. Any
// other Secret is unrelated to the cluster: it is never read.
func IsMarked(c *v1beta1.EtcdCluster, secret metav1.Object) bool {
	return metav1.IsControlledBy(secret, c) || secret.GetLabels()[ManagedByLabel] == v1beta1.FieldOwner
}

// IsAbandoned says whether an object of the cluster has no owner, as after a backup tool has
// put it back, or the EtcdCluster was deleted without it: it carries all labels by which the
// cluster's objects are found, it has no controller and it is to stay. It is adopted then.
func IsAbandoned(c *v1beta1.EtcdCluster, object metav1.Object) bool {
	return metav1.GetControllerOf(object) == nil && object.GetDeletionTimestamp() == nil &&
		labels.SelectorFromSet(MemberSelector(c)).Matches(labels.Set(object.GetLabels()))
}

// Own makes the cluster the owner of an object that has none.
func Own(c *v1beta1.EtcdCluster, object metav1.Object) {
	if metav1.GetControllerOf(object) == nil {
		object.SetOwnerReferences(append(object.GetOwnerReferences(), Owner(c)))
	}
}

func owned(c *v1beta1.EtcdCluster, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: c.Namespace, Labels: Labels(c),
		OwnerReferences: []metav1.OwnerReference{Owner(c)},
	}
}

// merged is base with more added; base wins.
func merged(base, more map[string]string) map[string]string {
	if len(base)+len(more) == 0 {
		return nil
	}
	all := map[string]string{}
	maps.Copy(all, more)
	maps.Copy(all, base)
	return all
}

// labelTexts are labels as objects have them.
func labelTexts(labels map[string]v1beta1.LabelValue) map[string]string {
	all := map[string]string{}
	for name, value := range labels {
		all[name] = string(value)
	}
	return all
}
