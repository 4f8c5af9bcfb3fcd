// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Images are the images that the operator is configured with for versions of etcd, in place
// of etcd's own ones. The user's choice comes first.
type Images map[string]string

// Put gives a Pod that was built for the cluster the image of its version, and writes that
// down in it.
//
// No fingerprint counts it: those count what the user wants, which is a version under
// etcd's own name for its image. So an operator that is configured with another image of the
// same version restarts no member.
func (i Images) Put(c *v1beta1.EtcdCluster, pod *corev1.Pod) *corev1.Pod {
	image := i[c.Spec.Version]
	if image == "" || c.Spec.Image != "" {
		return pod
	}
	Etcd(pod).Image = image
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationImage, image)
	return pod
}

// TakeImage gives a Pod the image of another one, and what is written down of it. It says
// whether it was another image.
func TakeImage(pod, from *corev1.Pod) bool {
	delete(pod.Annotations, v1beta1.AnnotationImage)
	if put := from.Annotations[v1beta1.AnnotationImage]; put != "" {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationImage, put)
	}
	is, want := &Etcd(pod).Image, Etcd(from).Image
	differs := *is != want
	*is = want
	return differs
}

// hasImage says whether a Pod has the image that the cluster wants, given what their
// fingerprints say of it. If the user now chooses an image, an operator's own
// choice counts by its name, not by the version that it was made for.
func hasImage(c *v1beta1.EtcdCluster, pod *corev1.Pod, have, want string) bool {
	if put := pod.Annotations[v1beta1.AnnotationImage]; put != "" && c.Spec.Image != "" {
		return c.Spec.Image == put
	}
	return have == want
}

// DefaultImage is what holds a version if the user chooses no image. Fingerprints are made with it.
func DefaultImage(version string) string {
	return v1beta1.EtcdClusterSpec{Version: version}.MemberImage()
}

// IsMadeFor says whether a Pod was made for that image. A webhook may have written another
// one into it.
func IsMadeFor(pod *corev1.Pod, image string) bool {
	if have := strings.Split(pod.Annotations[v1beta1.AnnotationTemplate], "-"); len(have) == parts {
		return have[2] == hash(image)
	}
	return Etcd(pod).Image == image
}

// RunsDefaultImage says whether the image of a Pod with that version is what some operator takes
// when the user chooses none.
func RunsDefaultImage(pod *corev1.Pod, version string) bool {
	if pod.Annotations[v1beta1.AnnotationImage] != "" {
		return true
	}
	return IsMadeFor(pod, DefaultImage(version))
}
