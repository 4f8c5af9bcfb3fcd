package build

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// Volume is the claim of one member; nil if the cluster keeps no data. It is owned
// by the EtcdCluster only if its data goes with it.
//
// The plan is written on the volumes of first members alone.
func Volume(c *v1alpha1.EtcdCluster, member string, plan *v1alpha1.Bootstrap) *corev1.PersistentVolumeClaim {
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
				Requests: corev1.ResourceList{corev1.ResourceStorage: c.Spec.Storage.VolumeSize()},
			},
		},
	}
	if plan != nil {
		claim.Annotations = map[string]string{
			v1alpha1.AnnotationToken: plan.Token,
			v1alpha1.AnnotationPlan:  strings.Join(plan.Members, ","),
		}
	}
	return claim
}

// IsVolumeOf says whether a claim in a member's place is the cluster's: it owns it, or
// nobody does and it is kept for it.
func IsVolumeOf(c *v1alpha1.EtcdCluster, claim metav1.Object) bool {
	if owner := metav1.GetControllerOf(claim); owner != nil {
		return owner.UID == c.UID
	}
	return claim.GetLabels()[v1alpha1.LabelCluster] == c.Name
}

// VolumeOwners are the owners of every volume of the cluster.
func VolumeOwners(c *v1alpha1.EtcdCluster) []metav1.OwnerReference {
	if c.Spec.DeletionPolicy != v1alpha1.Delete {
		return nil
	}
	return []metav1.OwnerReference{Owner(c)}
}
