// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/crash"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// trouble is why a Pod's container does not run, as a message that does not change
// from one look to the next: each change would be a write of the status.
func trouble(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return heldBack(pod)
	}
	if condition := hasCondition(pod, corev1.PodScheduled, corev1.ConditionFalse); condition != nil {
		return "it cannot be scheduled: " + condition.Message
	}
	if hasCondition(pod, corev1.PodResizePending, corev1.ConditionTrue) != nil || specs.FailedResize(pod) != nil {
		return "its resources cannot change: " + resizing(pod)
	}
	if pod.Status.Phase == corev1.PodFailed {
		return fmt.Sprintf("it failed: %s %s", pod.Status.Reason, pod.Status.Message)
	}
	return cmp.Or(containerTrouble(pod, specs.EtcdStatus(pod)), besideTrouble(pod))
}

// besideTrouble is why a Pod is not ready although nothing is wrong with etcd: another container does not run, such as one of
// spec.podTemplate, in words that stay the same.
func besideTrouble(pod *corev1.Pod) string {
	if hasCondition(pod, corev1.PodReady, corev1.ConditionTrue) != nil {
		return ""
	}
	images := map[string]string{}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		images[c.Name] = c.Image
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		waiting := status.State.Waiting
		if waiting == nil || !failures[waiting.Reason] || status.Name == specs.Etcd(pod).Name {
			continue
		}
		beside, ended := "its container "+status.Name+" beside etcd", status.LastTerminationState.Terminated
		switch {
		case pullTrouble[waiting.Reason]:
			return fmt.Sprintf("%s: image %s cannot be pulled%s", beside, images[status.Name], pullCause(waiting.Message))
		case ended != nil:
			return fmt.Sprintf("%s keeps ending: %s, exit code %d", beside, ended.Reason, ended.ExitCode)
		case waiting.Reason == "CrashLoopBackOff":
			return beside + " keeps ending"
		default:
			return fmt.Sprintf("%s does not start: %s: %s", beside, waiting.Reason, waiting.Message)
		}
	}
	return ""
}

// resizing says why a Pod does not have the compute resources yet that its spec asks
// for. What the kubelet says of a node that is full now counts what others use, which
// changes by itself; so do the numbers in what it could not do.
func resizing(pod *corev1.Pod) string {
	pending := hasCondition(pod, corev1.PodResizePending, corev1.ConditionTrue)
	switch {
	case pod.DeletionTimestamp != nil: // its generation has grown, too
		return ""
	case pending != nil && pending.Reason == corev1.PodReasonInfeasible:
		return "its node never has room: " + pending.Message
	case pending != nil:
		return "its node has no room now"
	case specs.FailedResize(pod) != nil:
		return "the kubelet cannot do it: " + number.ReplaceAllString(specs.FailedResize(pod).Message, "…")
	case hasCondition(pod, corev1.PodResizeInProgress, corev1.ConditionTrue) != nil:
		return "the kubelet is at it"
	case pod.Status.ObservedGeneration != 0 && pod.Status.ObservedGeneration < pod.Generation:
		return "the kubelet has yet to look"
	default:
		return ""
	}
}

var number = regexp.MustCompile(`\b[0-9]+\b`)

// containerTrouble is why a container keeps ending. It is the same whether the container
// just ended, waits for its next start or has just started again. One that ended because
// its image was exchanged is no trouble; the status names its image until another
// runs.
func containerTrouble(pod *corev1.Pod, status corev1.ContainerStatus) string {
	ended := status.State.Terminated
	if ended == nil {
		ended = status.LastTerminationState.Terminated
	}
	if ended != nil && isExchanged(pod, ended) {
		ended = nil
	}
	waiting := status.State.Waiting
	switch {
	case status.Ready:
		return ""
	case waiting != nil && pullTrouble[waiting.Reason]:
		return fmt.Sprintf("its image %s cannot be pulled%s", specs.Etcd(pod).Image, pullCause(waiting.Message))
	case ended != nil:
		return fmt.Sprintf("its container ended: %s, exit code %d%s", ended.Reason, ended.ExitCode, lastLine(ended.Message))
	case waiting == nil || waiting.Reason == "ContainerCreating" || waiting.Reason == "PodInitializing":
		return ""
	case waiting.Reason == "CrashLoopBackOff": // its message counts the time
		return fmt.Sprintf("its container does not start with image %s", specs.Etcd(pod).Image)
	default:
		return fmt.Sprintf("its container does not start: %s: %s", waiting.Reason, waiting.Message)
	}
}

// isExchanged says whether a container ended because its Pod was given another image.
func isExchanged(pod *corev1.Pod, ended *corev1.ContainerStateTerminated) bool {
	return ended.ContainerID != "" && ended.ContainerID == pod.Annotations[v1beta1.AnnotationReplaced]
}

// pullTrouble are the kubelet's reasons for an image that it cannot pull; it alternates
// between them with every try.
var pullTrouble = map[string]bool{"ImagePullBackOff": true, "ErrImagePull": true, "InvalidImageName": true}

// pullCause quotes why an image cannot be pulled, in the runtime's words. The kubelet puts them
// after its own, which differ while it tries and while it waits for the next try; one before
// Kubernetes 1.32 has none while it waits. The port that a request came from differs with
// every try.
func pullCause(message string) string {
	cause := sourcePort.ReplaceAllString(pullPreface.ReplaceAllString(message, ""), "->")
	if cause == "" {
		return ""
	}
	const longest = 400 // the runtime names the image three times before the cause
	return ": " + strings.ToValidUTF8(cause[:min(len(cause), longest)], "")
}

var (
	pullPreface = regexp.MustCompile(`^(Back-off pulling image "[^"]*"(: )?)?(ErrImagePull: )?(rpc error: code = \w+ desc = )?`)
	sourcePort  = regexp.MustCompile(`:[0-9]+->`)
)

// lastLine quotes the last line of a container's log that says what went wrong. Of a line
// that etcd's logger wrote it takes the message and the error alone: others make every line
// different, or hold what clients have asked for, such as their keys.
func lastLine(message string) string {
	said, _, _ := strings.Cut(message, usage)
	line := lastMessage(strings.Split(strings.TrimSpace(said), "\n"))
	var logged struct{ Msg, Error string }
	switch {
	case json.Unmarshal([]byte(line), &logged) == nil:
		line = strings.TrimSuffix(logged.Msg+": "+logged.Error, ": ")
	case strings.HasPrefix(line, "{") || strings.HasSuffix(line, "}"):
		line = "" // only a part of such a line is left
	}
	if line == "" {
		return ""
	}
	const longest = 200
	return ": " + strings.ToValidUTF8(line[:min(len(line), longest)], "")
}

// usage begins what etcd prints after the line that reports a wrong flag.
const usage = "\nUsage:\n"

// lastMessage is the last line that etcd ended with, or the last of all: after a panic
// comes a trace of many lines.
func lastMessage(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "panic: ") || strings.Contains(line, `"level":"fatal"`) || strings.Contains(line, `"level":"panic"`) {
			return line
		}
	}
	return lines[len(lines)-1]
}

// failing says whether a Pod's container keeps ending or cannot start, by the
// kubelet's reasons: a single end is not failing.
func failing(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		return false
	}
	if waiting := specs.EtcdStatus(pod).State.Waiting; waiting != nil && failures[waiting.Reason] {
		return true
	}
	return hasCondition(pod, corev1.PodScheduled, corev1.ConditionFalse) != nil
}

// shakyFor is how long a container that has failed must run to be relied upon. It is
// the kubelet's first back-off: one that keeps failing lasts for less.
const shakyFor = 10 * time.Second

// isShaky says whether the container may be about to fail again: no other member may be
// disturbed just because this one is healthy now. One that was killed because its image was
// exchanged has not failed: clients that watch it keep etcd from ending by itself in time.
func (s *Snapshot) isShaky(pod *corev1.Pod) bool {
	status := specs.EtcdStatus(pod)
	run, last := status.State.Running, status.LastTerminationState.Terminated
	failed := last != nil && last.ExitCode != 0 && !isExchanged(pod, last)
	return run != nil && failed && s.isRecent(run.StartedAt.Time, shakyFor)
}

// failures are the kubelet's reasons for a container that it starts again and again.
var failures = map[string]bool{
	"ImagePullBackOff": true, "ErrImagePull": true, "InvalidImageName": true, "CrashLoopBackOff": true,
	"CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true,
}

// ended is how etcd's container has ended, if it does not run; nil if it does.
func ended(pod *corev1.Pod) *corev1.ContainerStateTerminated {
	status := specs.EtcdStatus(pod)
	if status.State.Terminated == nil && status.State.Waiting != nil {
		return status.LastTerminationState.Terminated
	}
	return status.State.Terminated
}

// differs says whether etcd has ended because its data is not that of all its peers.
func differs(pod *corev1.Pod) bool {
	ended := ended(pod)
	return ended != nil && crash.Why(ended.ExitCode, ended.Reason, ended.Message) == crash.Differs
}

// damage says why etcd cannot use its data, if it has said so itself and its container does not
// run: then no restart helps. An empty data directory is a case of its own.
func damage(pod *corev1.Pod) (words string, emptied bool) {
	ended := ended(pod)
	if ended == nil {
		return "", false
	}
	switch crash.Why(ended.ExitCode, ended.Reason, ended.Message) {
	case crash.Corrupt:
		return "its data is damaged" + lastLine(ended.Message), false
	case crash.Empty:
		return "its data directory was emptied" + lastLine(ended.Message), true
	default:
		return "", false
	}
}
