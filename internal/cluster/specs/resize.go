// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Resizes is what of the compute resources a Kubernetes can change in a running Pod.
type Resizes int

const (
	// ResizesNothing: each change takes a new Pod.
	ResizesNothing Resizes = iota
	// ResizesMost: a lower limit of memory is refused, as Kubernetes 1.33 does
	// (https://github.com/kubernetes/kubernetes/pull/130183).
	ResizesMost
	// ResizesAll: a lower limit of memory, too.
	ResizesAll
)

// IsResizable says whether Kubernetes can give the running Pod the resources that the
// cluster wants: processor and memory only, none taken away, and of the same quality
// of service
// (https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/#limitations).
func IsResizable(pod *corev1.Pod, c *v1beta1.EtcdCluster, can Resizes) bool {
	running := Etcd(pod).Resources
	have := defaulted(running.Requests, running.Limits)
	resources := c.MemberResources()
	want := defaulted(resources.Requests, resources.Limits)
	if can == ResizesNothing || can == ResizesMost && want.Limits.Memory().Cmp(*have.Limits.Memory()) < 0 {
		return false
	}
	return isChangeable(have.Requests, want.Requests) && isChangeable(have.Limits, want.Limits) && quality(have) == quality(want)
}

// resizePatience is how long the kubelet may fail to change the resources of a running
// Pod: it looks at every Pod once a minute (syncFrequency,
// https://kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1/), so twice.
const resizePatience = 2 * time.Minute

// IsStuck says whether the kubelet has tried for too long to give the Pod its resources, such as
// a limit of memory below what its container uses: only a new Pod gets them.
func IsStuck(pod *corev1.Pod, now time.Time) bool {
	failed := FailedResize(pod)
	return failed != nil && now.Sub(failed.LastTransitionTime.Time) > resizePatience
}

// FailedResize is the kubelet's condition of a resize that fails; nil if there is none.
func FailedResize(pod *corev1.Pod) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizeInProgress && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonError
	})
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

// defaulted has a request for every limit, as the API server sets them.
func defaulted(requests, limits corev1.ResourceList) corev1.ResourceRequirements {
	all := maps.Clone(limits)
	if all == nil {
		all = corev1.ResourceList{}
	}
	maps.Copy(all, requests)
	return corev1.ResourceRequirements{Requests: all, Limits: limits}
}

func isChangeable(have, want corev1.ResourceList) bool {
	for name, quantity := range have {
		wanted, kept := want[name]
		if !kept || !isComputing(name) && wanted.Cmp(quantity) != 0 {
			return false
		}
	}
	for name := range want {
		if _, there := have[name]; !there && !isComputing(name) {
			return false
		}
	}
	return true
}

func isComputing(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory
}

// quality is the class of a Pod of one container
// (https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/).
func quality(of corev1.ResourceRequirements) corev1.PodQOSClass {
	class := corev1.PodQOSBestEffort
	equal := 0
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		request, limit := of.Requests[name], of.Limits[name]
		if !request.IsZero() || !limit.IsZero() {
			class = corev1.PodQOSBurstable
		}
		if !limit.IsZero() && request.Cmp(limit) == 0 {
			equal++
		}
	}
	if equal == 2 {
		return corev1.PodQOSGuaranteed
	}
	return class
}
