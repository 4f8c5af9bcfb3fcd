package diagnosis

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// etcdContainer is the container of a member's Pod that runs etcd.
const etcdContainer = "etcd"

// restartsOften is how many restarts of a container are many, if the last one is recent.
const restartsOften = 3

// members are those that are not healthy, with what Kubernetes says of their Pods, and those that have ended not long ago.
func members(f Facts) []Finding {
	var findings []Finding
	for _, m := range f.Cluster.Status.Members {
		if m.Role == v1beta1.RoleUnlisted {
			continue
		}
		pod := f.pod(m.Name)
		if isDown(f, m) {
			findings = append(findings, unhealthy(f, m, pod))
		}
		if pod != nil {
			findings = append(findings, lastEnd(f, m.Name, pod)...)
		}
		if d := m.LastDefragmentation; d != nil && d.Failure != "" {
			findings = append(findings, Finding{
				WillBeAProblem, m.Name + " could not be defragmented: " + d.Failure,
				"do what the message says; then: kubectl etcd defrag " + f.Cluster.Name, "operations/space.md#defragmentation",
			})
		}
	}
	return append(findings, alone(f)...)
}

// isDown says whether a member should be healthy, and is not.
func isDown(f Facts, m v1beta1.MemberStatus) bool {
	return !m.Healthy && m.Role != v1beta1.RoleUnlisted && f.Cluster.Size() > 0
}

// alone are clusters that have no redundancy by their spec.
func alone(f Facts) []Finding {
	var findings []Finding
	if f.Cluster.Size() == 1 {
		findings = append(findings, Finding{
			Hint, "a cluster of one has no redundancy: it does not serve while its member restarts", "set spec.size to 3", "operations/scale.md",
		})
	}
	if f.Cluster.Spec.Storage.Ephemeral != nil {
		findings = append(findings, Finding{
			Hint, "storage.ephemeral: data that a majority of Pods loses is gone", "back it up, or use volumes",
			"operations/roll.md#ephemeral-members",
		})
	}
	return findings
}

func unhealthy(f Facts, m v1beta1.MemberStatus, pod *corev1.Pod) Finding {
	what, do := "member "+m.Name+" is not healthy", "see its log: kubectl logs "+m.Name+" -n "+f.Cluster.Namespace
	var why string
	switch {
	case pod == nil && f.knows(Pods):
		why, do = "it has no Pod", "see what Progressing waits for, and the log of the operator"
	case pod != nil:
		why, do = podTrouble(f, pod, do)
	}
	if why = cmp.Or(why, m.Message); why != "" {
		what += ": " + why
	}
	return Finding{RedundancyLost, what, do, pageDown}
}

// podTrouble is why a Pod does not run its member, and what to do about it.
func podTrouble(f Facts, pod *corev1.Pod, otherwise string) (why, do string) {
	node := f.node(pod.Spec.NodeName)
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return "its Pod is not scheduled: " + c.Message, "have a node that fits it, or change what it asks for"
		}
	}
	switch {
	case pod.Spec.NodeName != "" && node == nil && f.knows(Nodes):
		return "its node " + pod.Spec.NodeName + " is not in Kubernetes", "bring the node back, or let the member be replaced"
	case node != nil && notReady(node) != "":
		return "its node " + node.Name + " is not ready: " + notReady(node),
			"bring the node back; after spec.recovery.memberTimeout the member is replaced"
	case pod.DeletionTimestamp != nil:
		return "its Pod is being deleted, since " + age(f.Now.Sub(pod.DeletionTimestamp.Time)), otherwise
	}
	for _, c := range allContainers(pod) {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return fmt.Sprintf("container %s waits: %s", c.Name, reasoned(w.Reason, w.Message)), waits(w.Reason, otherwise)
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return "its Pod has failed: " + reasoned(pod.Status.Reason, pod.Status.Message), otherwise
	}
	return "", otherwise
}

// waits is what to do about the reason that a container waits for.
func waits(reason, otherwise string) string {
	switch reason {
	case "ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull":
		return "correct spec.image or spec.version, or let nodes pull the image"
	case "CreateContainerConfigError", "CreateContainerError":
		return "correct what the message names"
	case "CrashLoopBackOff":
		return strings.Replace(otherwise, "kubectl logs", "kubectl logs --previous", 1)
	}
	return otherwise
}

// lastEnd is how etcd ended last, if that is recent.
func lastEnd(f Facts, member string, pod *corev1.Pod) []Finding {
	for _, c := range pod.Status.ContainerStatuses {
		last := c.LastTerminationState.Terminated
		if c.Name != etcdContainer || last == nil || f.Now.Sub(last.FinishedAt.Time) > Recent || last.ExitCode == 0 {
			continue
		}
		what := fmt.Sprintf("etcd of %s ended %s ago with code %d: %s; it has restarted %d times",
			member, age(f.Now.Sub(last.FinishedAt.Time)), last.ExitCode, reasoned(last.Reason, last.Message), c.RestartCount)
		switch {
		case last.Reason == "OOMKilled":
			return one(WillBeAProblem, what, "raise the memory of spec.resources", "operations/roll.md#resources")
		case c.RestartCount >= restartsOften:
			return one(WillBeAProblem, what, "see its log: kubectl logs --previous "+member+" -n "+f.Cluster.Namespace, pageDown)
		}
		return one(Hint, what, "see its log: kubectl logs --previous "+member+" -n "+f.Cluster.Namespace, pageDown)
	}
	return nil
}

func allContainers(pod *corev1.Pod) []corev1.ContainerStatus {
	return append(append([]corev1.ContainerStatus(nil), pod.Status.InitContainerStatuses...), pod.Status.ContainerStatuses...)
}

func reasoned(reason, message string) string {
	message = strings.TrimSpace(message)
	if message == "" || reason == "" {
		return cmp.Or(reason, message, "Kubernetes does not say why")
	}
	return reason + ": " + message
}

func age(d time.Duration) string { return duration.HumanDuration(d) }
