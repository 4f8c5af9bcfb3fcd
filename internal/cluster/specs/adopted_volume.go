// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// adoptedMarks are the labels by which the operator finds a volume.
var adoptedMarks = []string{ManagedByLabel, v1beta1.LabelCluster, v1beta1.LabelMember}

// AdoptedVolume is the claim of a member that something else has made, marked as the cluster's. Its other labels stay, and it has no owner
// yet: while the cluster is adopted it does not go with the EtcdCluster.
func AdoptedVolume(c *v1beta1.EtcdCluster, claim *corev1.PersistentVolumeClaim, directory string) *corev1.PersistentVolumeClaim {
	marked := claim.DeepCopy()
	for _, label := range adoptedMarks {
		metav1.SetMetaDataLabel(&marked.ObjectMeta, label, VolumeLabels(c, claim.Name)[label])
	}
	metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1beta1.AnnotationClusterID, c.Status.ClusterID)
	metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1beta1.AnnotationNamespace, c.Namespace)
	metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1beta1.AnnotationTLSMode, c.TLSMode())
	metav1.SetMetaDataAnnotation(&marked.ObjectMeta, v1beta1.AnnotationDataDirectory, directory)
	return marked
}

// ReleasedVolume is the claim without those marks.
func ReleasedVolume(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	released := claim.DeepCopy()
	for _, label := range adoptedMarks {
		delete(released.Labels, label)
	}
	for _, annotation := range []string{
		v1beta1.AnnotationClusterID, v1beta1.AnnotationNamespace, v1beta1.AnnotationTLSMode, v1beta1.AnnotationDataDirectory,
	} {
		delete(released.Annotations, annotation)
	}
	return released
}

// OnAdopted has a Pod find the data on a volume that something else has made, in that directory; it is as it was if that is empty. Nothing
// on the volume moves: a Pod of the source that comes back finds its data locked, and not an empty directory in which it would begin again
// as the same member. Files are made readable each time: their modes may be those of another user although the root of the volume looks
// right. No fingerprint counts it, because it follows from the volume.
func OnAdopted(pod *corev1.Pod, directory string) *corev1.Pod {
	if directory == "" {
		return pod
	}
	etcd := Etcd(pod)
	for i := range etcd.VolumeMounts {
		if mount := &etcd.VolumeMounts[i]; mount.Name == "data" {
			mount.MountPath, mount.SubPath = dataDir, directory
			if directory == "." {
				mount.SubPath = ""
			}
		}
	}
	if pod.Spec.SecurityContext != nil {
		pod.Spec.SecurityContext.FSGroupChangePolicy = ptr.To(corev1.FSGroupChangeAlways)
	}
	return pod
}
