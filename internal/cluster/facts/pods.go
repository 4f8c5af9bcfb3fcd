// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// freshFor is how long after a Pod's container started etcd is expected to be
// ready: an election with default timers takes up to two seconds
// (https://etcd.io/docs/v3.6/tuning/#time-parameters), loading data a little more.
const freshFor = 30 * time.Second

func (j *builder) pod(pod *corev1.Pod) {
	if cluster.Serial(j.c.Name, pod.Name) < 0 {
		return // a copy with our labels has no member's name
	}
	if j.belongsToOthers("Pod", pod) || j.noteBeside(pod) {
		return
	}
	m := j.member(pod.Name)
	j.pods[pod.Name] = pod
	m.Pod = podFacts(pod)
	m.Pod.Overdue = j.isOverdue(pod)
	m.Pod.Clients = j.clients(pod)
	m.Pod.RecentlyRestarted = j.isShaky(pod)
	m.Pod.Unchecked = specs.IsUnchecked(j.c, pod)
	m.Pod.LabelsMissing = lacksLabels(j.c, pod) || specs.IsAbandoned(j.c, pod)
	m.Damage, j.emptied[pod.Name] = damage(pod)
	m.Differs = differs(pod)
	if j.v.Want.Ephemeral {
		m.Volume = dataOf(m.Pod)
	}
	if run := specs.EtcdStatus(pod).State.Running; run != nil && j.isRecent(run.StartedAt.Time, freshFor) {
		j.v.Fresh = true
	}
}

// lacksLabels says whether an object of the cluster lacks the labels by which it is found.
func lacksLabels(c *v1beta1.EtcdCluster, object metav1.Object) bool {
	return !labels.SelectorFromSet(specs.MemberSelector(c)).Matches(labels.Set(object.GetLabels()))
}

// dataOf is the state of ephemeral data: it exists in a Pod that may still run.
func dataOf(pod cluster.Pod) cluster.VolumeState {
	if pod.Exists() && pod.Phase != cluster.Finished {
		return cluster.Kept
	}
	return cluster.NoVolume
}

func podFacts(pod *corev1.Pod) cluster.Pod {
	etcd := specs.EtcdStatus(pod)
	return cluster.Pod{
		Phase: phase(pod), Deletion: deletion(pod),
		UID: string(pod.UID), Made: pod.CreationTimestamp.Unix(), Address: pod.Status.PodIP,
		Ready:    hasCondition(pod, corev1.PodReady, corev1.ConditionTrue) != nil,
		Proven:   isProven(pod),
		Forced:   pod.Annotations[v1beta1.AnnotationForced] != "",
		Failing:  failing(pod),
		Resizing: resizing(pod),
		Trouble:  trouble(pod),
		Image:    specs.Etcd(pod).Image,
		Lingers:  specs.Lingers(pod),
		Settling: isReplaced(pod, etcd),
		Entry:    specs.Entry(pod),

		DefragmentsAgain: specs.DefragmentsAgain(pod),
	}
}

// overdueAfter is how long a Pod may take to end before it counts as overdue, however short
// its own grace period is: a busy kubelet needs longer than its container. It is the default
// of Kubernetes for that period.
const overdueAfter = 30 * time.Second

func (s *Snapshot) isOverdue(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	granted := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
	return s.come().After(pod.DeletionTimestamp.Add(max(0, overdueAfter-granted)))
}

// clientsLeave is how long it takes until no client is sent to a Pod any more that has
// left a Service: kube-proxy gathers changes for a second before it applies them
// (minSyncPeriod, https://kubernetes.io/docs/reference/networking/virtual-ips/). A Pod that
// lingers does so for as long (specs.Lingers).
const clientsLeave = time.Second

func (s *Snapshot) clients(pod *corev1.Pod) cluster.Clients {
	if pod.Labels[specs.ComponentLabel] == specs.Serving {
		return cluster.Attached
	}
	at := cmp.Or(pod.Annotations[v1beta1.AnnotationDetachedAt], pod.Annotations[v1beta1.AnnotationWithdrawnAt])
	since, err := time.Parse(time.RFC3339Nano, at)
	if err == nil && s.isRecent(since, clientsLeave) {
		return cluster.Leaving
	}
	return cluster.Gone
}

func phase(pod *corev1.Pod) cluster.Phase {
	switch {
	case isOver(pod):
		return cluster.Finished
	case specs.EtcdStatus(pod).State.Running != nil:
		return cluster.Running
	case pod.Spec.NodeName == "":
		return cluster.Unplaced
	default:
		return cluster.Placed
	}
}

func deletion(pod *corev1.Pod) cluster.Deletion {
	switch {
	case pod.DeletionTimestamp == nil:
		return cluster.NotDeleted
	case hasEnded(pod):
		return cluster.Ended
	default:
		return cluster.Terminating
	}
}

// isReplaced says whether the container is still the one from before an exchange of
// the image.
func isReplaced(pod *corev1.Pod, status corev1.ContainerStatus) bool {
	replaced := pod.Annotations[v1beta1.AnnotationReplaced]
	return replaced != "" && replaced == status.ContainerID && status.State.Running != nil
}

// isProven says whether a Pod is ready or was ready before. If it never was, its condition
// has not changed since its start; else the condition has the time of the last change.
func isProven(pod *corev1.Pod) bool {
	if hasCondition(pod, corev1.PodReady, corev1.ConditionTrue) != nil {
		return true
	}
	unready, began := hasCondition(pod, corev1.PodReady, corev1.ConditionFalse), pod.Status.StartTime
	return unready != nil && began != nil && unready.LastTransitionTime.Sub(began.Time) > takenOn
}

// takenOn is how long after a Pod's start the kubelet may write its first status.
const takenOn = 10 * time.Second

func hasCondition(pod *corev1.Pod, kind corev1.PodConditionType, status corev1.ConditionStatus) *corev1.PodCondition {
	for i, condition := range pod.Status.Conditions {
		if condition.Type == kind && condition.Status == status {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}
