// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// etcdContainer is the name of the container that runs etcd. Webhooks may put others
// before it or behind it, so no place in a list says which it is.
const etcdContainer = "etcd"

// Etcd is the container of a Pod that runs etcd, to be read or changed. It is an empty one
// of no Pod if there is none.
func Etcd(pod *corev1.Pod) *corev1.Container {
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == etcdContainer })
	if i < 0 {
		return &corev1.Container{}
	}
	return &pod.Spec.Containers[i]
}

// EtcdStatus is what the kubelet says of that container: nothing yet, if it is empty.
func EtcdStatus(pod *corev1.Pod) corev1.ContainerStatus {
	all := pod.Status.ContainerStatuses
	i := slices.IndexFunc(all, func(s corev1.ContainerStatus) bool { return s.Name == etcdContainer })
	if i < 0 {
		return corev1.ContainerStatus{}
	}
	return all[i]
}
