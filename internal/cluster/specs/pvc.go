// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// Volume is the claim of one member; nil if the cluster keeps no data. It is owned
// by the EtcdCluster only if its data goes with it.
//
// The plan is written on the volumes of first members alone, the cluster's ID on those of
// members that join later.
func Volume(c *v1beta1.EtcdCluster, member string, plan *v1beta1.Bootstrap) *corev1.PersistentVolumeClaim {
	if c.Spec.Storage.Ephemeral != nil {
		return nil
	}
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Name: member, Namespace: c.Namespace, Labels: VolumeLabels(c, member), OwnerReferences: VolumeOwners(c)},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: c.Spec.Storage.StorageClassName,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: c.VolumeSize()},
			},
		},
	}
	claim.Annotations = map[string]string{v1beta1.AnnotationNamespace: c.Namespace, v1beta1.AnnotationTLSMode: c.TLSMode()}
	switch {
	case plan != nil:
		claim.Annotations[v1beta1.AnnotationToken] = plan.Token
		claim.Annotations[v1beta1.AnnotationPlan] = strings.Join(plan.Members, ",")
		claim.Annotations[v1beta1.AnnotationUnused] = "true"
	case c.Status.ClusterID != "":
		claim.Annotations[v1beta1.AnnotationClusterID] = c.Status.ClusterID
	}
	return claim
}

// stranger says why a claim without an owner is not the cluster's; empty if it is. Its labels must
// name this cluster and no other: its data would be mounted. A claim without labels may hold any
// data.
func stranger(c *v1beta1.EtcdCluster, claim metav1.Object) string {
	of, notes, plan := claim.GetLabels()[v1beta1.LabelCluster], claim.GetAnnotations(), c.Status.Bootstrap
	token, id := notes[v1beta1.AnnotationToken], notes[v1beta1.AnnotationClusterID]
	home, mode := notes[v1beta1.AnnotationNamespace], notes[v1beta1.AnnotationTLSMode]
	switch {
	case home != "" && home != c.Namespace:
		return cluster.Elsewhere(home)
	case mode != "" && mode != c.TLSMode() && !c.ListsBoth():
		return fmt.Sprintf("its member was found with tls.mode %s, which etcd keeps in the data as part of the members' addresses: "+
			"delete the EtcdCluster, and create it again with spec.tls.mode %s (annotation %s)", mode, mode, v1beta1.AnnotationTLSMode)
	case of == "":
		return fmt.Sprintf("no label %s says whose data it has, set that to %s if this cluster's", v1beta1.LabelCluster, c.Name)
	case of != c.Name:
		return fmt.Sprintf("its label %s says that it has data of %s", v1beta1.LabelCluster, of)
	case id != "" && c.Status.ClusterID != "" && id != c.Status.ClusterID:
		return fmt.Sprintf("it has data of the cluster with ID %s, not %s (annotation %s)", id, c.Status.ClusterID, v1beta1.AnnotationClusterID)
	case plan == nil || plan.Adopted && plan.Token == string(c.UID): // there is nothing on its volumes
		return ""
	case token != "" && token != plan.Token, token == "" && c.Status.ClusterID == "" && !plan.Adopted:
		return fmt.Sprintf("it was not made for this cluster, whose first members have the token %s and not %q (annotation %s)",
			plan.Token, token, v1beta1.AnnotationToken)
	default:
		return ""
	}
}

// bound is on every claim that has had a volume, also once that is gone
// (AnnBindCompleted in k8s.io/component-helpers/storage/volume).
const bound = "pv.kubernetes.io/bind-completed"

// IsUnused says whether a claim of a first member proves that it holds nothing: no Pod was
// made for it, or it never had a volume. One that is to be filled from elsewhere, or bound
// to a volume that was chosen by hand, may hold data as soon as it is bound.
func IsUnused(claim *corev1.PersistentVolumeClaim) bool {
	notes, spec := claim.Annotations, claim.Spec
	switch {
	case notes[v1beta1.AnnotationToken] == "", notes[v1beta1.AnnotationClusterID] != "":
		return false
	case spec.DataSource != nil, spec.DataSourceRef != nil, spec.Selector != nil:
		return false
	case notes[v1beta1.AnnotationUnused] != "":
		return true
	default:
		return claim.Status.Phase == corev1.ClaimPending && spec.VolumeName == "" && notes[bound] == ""
	}
}

// IsFitting says whether an unused claim asks for what the cluster wants. Without a class
// in the spec any will do: which one is the default is not known here.
func IsFitting(c *v1beta1.EtcdCluster, claim *corev1.PersistentVolumeClaim) bool {
	want, size := c.Spec.Storage.StorageClassName, claim.Spec.Resources.Requests[corev1.ResourceStorage]
	return (want == nil || ptr.Deref(claim.Spec.StorageClassName, "") == *want) && size.Cmp(c.VolumeSize()) == 0
}

// VolumeOwners are the owners of every volume of the cluster.
func VolumeOwners(c *v1beta1.EtcdCluster) []metav1.OwnerReference {
	if !c.GoesWithVolumes() {
		return nil
	}
	return []metav1.OwnerReference{Owner(c)}
}
