// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestEnded: only the kubelet's word on each container proves that a Pod has ended.
func TestEnded(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	terminated := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason}}
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"all have ended":     {func(*corev1.Pod) {}, true},
		"with a failure":     {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, true},
		"it was not deleted": {func(p *corev1.Pod) { p.DeletionTimestamp = nil }, false},
		"no final phase yet": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, false},
		"its container runs, and the phase is another's word, as for a node that is gone": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = running
		}, false},
		"its container waits": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
		}, false},
		"the kubelet has lost track of its container": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = terminated("ContainerStatusUnknown")
		}, false},
		"nothing is said of its container": {func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, false},
		"nothing is said of a sidecar": {func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "proxy"})
		}, false},
		"a sidecar that is an init container runs": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "proxy"}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", State: running}}
		}, false},
		"it is debugged": {func(p *corev1.Pod) {
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug"}}}
			p.Status.EphemeralContainerStatuses = []corev1.ContainerStatus{{Name: "debug"}}
		}, false},
		"it was deleted for good, and is there for its finalizer only": {func(p *corev1.Pod) {
			p.DeletionGracePeriodSeconds = ptr.To[int64](0)
		}, false},
		"so have its sidecars": {func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "proxy"}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", State: terminated("Completed")}}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			pod := s.pod("a-1")
			pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: now}, []string{"example.com/wait"}
			pod.Status.Phase, pod.Status.ContainerStatuses[0].State = corev1.PodSucceeded, terminated("Completed")
			test.change(pod)
			if got := s.member("a-1").Pod.Deletion == cluster.Ended; got != test.want {
				t.Errorf("it has ended: %t", got)
			}
		})
	}
}

// TestForcedPodIsOver: a Pod that is not to be restarted never runs etcd again, although a
// container that was added to it keeps its phase at Running.
func TestForcedPodIsOver(t *testing.T) {
	for policy, want := range map[corev1.RestartPolicy]bool{corev1.RestartPolicyNever: true, corev1.RestartPolicyAlways: false} {
		s := newScene(t)
		pod := s.pod("a-1")
		pod.Spec.RestartPolicy, pod.Status.Phase = policy, corev1.PodRunning
		if s.member("a-1").Pod.Phase == cluster.Finished {
			t.Errorf("%s: it runs", policy)
		}
		pod.Status.ContainerStatuses[0].State = ended("OOMKilled", 137, "")
		if got := s.member("a-1").Pod.Phase == cluster.Finished; got != want {
			t.Errorf("%s: finished %t, want %t", policy, got, want)
		}
	}
}
