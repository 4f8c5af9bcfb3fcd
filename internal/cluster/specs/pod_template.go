// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// patched is a member's Pod with spec.podTemplate merged into it. What may stand in that is limited by its type and by rules of admission,
// so nothing is checked here. The template is in the fingerprint: a change of it takes a new Pod.
func patched(c *v1beta1.EtcdCluster, pod *corev1.Pod) *corev1.Pod {
	if c.Spec.PodTemplate == nil {
		return pod
	}
	merged, err := merge(pod, c.Spec.PodTemplate)
	if err != nil {
		return pod // structs of these types have JSON, and merge
	}
	for _, containers := range [][]corev1.Container{merged.Spec.Containers, merged.Spec.InitContainers} {
		for i := range containers {
			restrict(&containers[i])
		}
	}
	return merged
}

// merge is a strategic merge patch of the Pod's spec: lists whose entries have names are merged by them.
func merge(pod *corev1.Pod, template *v1beta1.PodTemplate) (*corev1.Pod, error) {
	original, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(map[string]any{"spec": template})
	if err != nil {
		return nil, err
	}
	result, err := strategicpatch.StrategicMergePatch(original, patch, corev1.Pod{})
	if err != nil {
		return nil, err
	}
	merged := &corev1.Pod{}
	if err := json.Unmarshal(result, merged); err != nil {
		return nil, err
	}
	// etcd comes first, as without a template: people and tools look at the first container.
	slices.SortStableFunc(merged.Spec.Containers, func(a, b corev1.Container) int { return after(a.Name) - after(b.Name) })
	return merged, nil
}

func after(container string) int {
	if container == etcdContainer {
		return 0
	}
	return 1
}

// restrict gives a container what the profile restricted of the Pod Security Standards asks of each, beyond what the Pod has
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/). For etcd's own it changes nothing.
func restrict(c *corev1.Container) {
	if c.SecurityContext == nil {
		c.SecurityContext = &corev1.SecurityContext{}
	}
	c.SecurityContext.AllowPrivilegeEscalation = ptr.To(false)
	c.SecurityContext.Capabilities = &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}
}
