package facts

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// hasEnded says whether none of the containers of a Pod that was deleted runs any more, by
// the word of its kubelet: that one reports a final phase only after it has seen all
// containers stopped (since Kubernetes 1.27,
// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase).
//
// A final phase alone proves nothing: it is also written for Pods on nodes that are gone, by
// others who cannot know. They leave out what became of the containers.
func hasEnded(pod *corev1.Pod) bool {
	containers := len(pod.Spec.InitContainers) + len(pod.Spec.Containers) + len(pod.Spec.EphemeralContainers)
	said := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses)
	ended := isFinal(pod.Status.Phase) && len(said) == containers && !slices.ContainsFunc(said, mayRun)
	return ended && heldBack(pod) == ""
}

// heldBack says what keeps a Pod that was deleted for good: only who has put a finalizer on it
// can let it go. Empty if it may still go by itself.
func heldBack(pod *corev1.Pod) string {
	if pod.DeletionTimestamp == nil || len(pod.Finalizers) == 0 || ptr.Deref(pod.DeletionGracePeriodSeconds, 1) > 0 {
		return ""
	}
	return "its pod was deleted and cannot go: somebody else has put the finalizer " + strings.Join(pod.Finalizers, ", ") + " on it"
}

// isFinal says whether a Pod in that phase never runs again.
func isFinal(phase corev1.PodPhase) bool {
	return phase == corev1.PodFailed || phase == corev1.PodSucceeded
}

// isOver says whether a Pod never runs etcd again. Where a container beside etcd's goes on, the
// phase of a Pod that is not to be restarted stays Running.
func isOver(pod *corev1.Pod) bool {
	isForGood := pod.Spec.RestartPolicy == corev1.RestartPolicyNever && specs.EtcdStatus(pod).State.Terminated != nil
	return isFinal(pod.Status.Phase) || isForGood
}

// lostTrack is the kubelet's reason for a container that it could not find when its Pod
// ended, and of which it does not know how it went.
const lostTrack = "ContainerStatusUnknown"

func mayRun(status corev1.ContainerStatus) bool {
	return status.State.Terminated == nil || status.State.Terminated.Reason == lostTrack
}
