// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// hasEnded says whether none of the containers of a Pod that was deleted runs any more, as
// reported by its kubelet: it reports a final phase only after it has seen all
// containers stopped (since Kubernetes 1.27,
// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase).
//
// A final phase alone proves nothing: other controllers also write it for Pods on nodes that
// are gone. They do not write the statuses of the containers.
func hasEnded(pod *corev1.Pod) bool {
	containers := len(pod.Spec.InitContainers) + len(pod.Spec.Containers) + len(pod.Spec.EphemeralContainers)
	said := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses)
	ended := isFinal(pod.Status.Phase) && len(said) == containers && !slices.ContainsFunc(said, mayRun)
	return ended && heldBack(pod) == ""
}

// heldBack says what keeps a Pod that was deleted: only the owner of a finalizer can remove it.
// Empty if the Pod may still end by itself.
func heldBack(pod *corev1.Pod) string {
	if pod.DeletionTimestamp == nil || len(pod.Finalizers) == 0 || ptr.Deref(pod.DeletionGracePeriodSeconds, 1) > 0 {
		return ""
	}
	return "its pod cannot be deleted: the finalizer " + strings.Join(pod.Finalizers, ", ") + ", which is not the operator's, keeps it"
}

// isFinal says whether a Pod in that phase never runs again.
func isFinal(phase corev1.PodPhase) bool {
	return phase == corev1.PodFailed || phase == corev1.PodSucceeded
}

// isOver says whether a Pod never runs etcd again. If a container beside etcd's goes on, the
// phase of a Pod that is not to be restarted stays Running.
func isOver(pod *corev1.Pod) bool {
	isForGood := pod.Spec.RestartPolicy == corev1.RestartPolicyNever && specs.EtcdStatus(pod).State.Terminated != nil
	return isFinal(pod.Status.Phase) || isForGood
}

// lostTrack is the kubelet's reason for a container that it could not find when its Pod
// ended, so that it does not know how the container ended.
const lostTrack = "ContainerStatusUnknown"

func mayRun(status corev1.ContainerStatus) bool {
	return status.State.Terminated == nil || status.State.Terminated.Reason == lostTrack
}
