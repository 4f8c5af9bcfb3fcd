// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestResizing: what Kubernetes has accepted counts as done only when the kubelet has
// done it. What never fits its node is recreated, which another node may take, and so is what
// the kubelet has tried in vain for two minutes.
func TestResizing(t *testing.T) {
	condition := func(kind corev1.PodConditionType, reason, message string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.Conditions = append(pod.Status.Conditions,
				corev1.PodCondition{
					Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message,
					LastTransitionTime: metav1.NewTime(now.Add(-2 * time.Minute)),
				})
		}
	}
	for name, test := range map[string]struct {
		change            func(*corev1.Pod)
		resizing, trouble string
		left              cluster.Change
	}{
		"nothing": {func(*corev1.Pod) {}, "", "", cluster.Same},
		"done": {
			func(pod *corev1.Pod) { pod.Generation, pod.Status.ObservedGeneration = 2, 2 },
			"", "", cluster.Same,
		},
		"a kubelet that counts no generations": {func(pod *corev1.Pod) { pod.Generation = 2 }, "", "", cluster.Same},
		"not seen": {
			func(pod *corev1.Pod) { pod.Generation, pod.Status.ObservedGeneration = 2, 1 },
			"the kubelet has yet to look", "", cluster.Same,
		},
		"being deleted": {
			func(pod *corev1.Pod) {
				pod.Generation, pod.Status.ObservedGeneration = 2, 1
				pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: now}, []string{"example.com/kept"}
			},
			"", "", cluster.Same,
		},
		"in progress": {condition(corev1.PodResizeInProgress, "", ""), "the kubelet is at it", "", cluster.Same},
		"in vain": {
			condition(corev1.PodResizeInProgress, corev1.PodReasonError, "memory limit (1073741824) is below usage (1500000001)"),
			"the kubelet cannot do it: memory limit (…) is below usage (…)",
			"its resources cannot change: the kubelet cannot do it: memory limit (…) is below usage (…)", cluster.Same,
		},
		"in vain for long": {
			func(pod *corev1.Pod) {
				condition(corev1.PodResizeInProgress, corev1.PodReasonError, "memory limit (1073741824) is below usage (1500000001)")(pod)
				pod.Status.Conditions[len(pod.Status.Conditions)-1].LastTransitionTime = metav1.NewTime(now.Add(-2*time.Minute - time.Second))
			},
			"the kubelet cannot do it: memory limit (…) is below usage (…)",
			"its resources cannot change: the kubelet cannot do it: memory limit (…) is below usage (…)", cluster.Rebuild,
		},
		"deferred": {
			condition(corev1.PodResizePending, corev1.PodReasonDeferred, "used: 17"),
			"its node has no room now", "its resources cannot change: its node has no room now", cluster.Same,
		},
		"infeasible": {
			condition(corev1.PodResizePending, corev1.PodReasonInfeasible, "capacity: 2000"),
			"its node never has room: capacity: 2000", "its resources cannot change: its node never has room: capacity: 2000", cluster.Rebuild,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			test.change(s.pod("a-1"))
			pod := s.member("a-1").Pod
			if pod.Resizing != test.resizing || pod.Trouble != test.trouble || pod.Change != test.left {
				t.Errorf("got  %q, %q, change %v\nwant %q, %q, change %v",
					pod.Resizing, pod.Trouble, pod.Change, test.resizing, test.trouble, test.left)
			}
		})
	}
}
