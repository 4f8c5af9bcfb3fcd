// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestPodThatHasEndedIsCleared: here nothing cleans up after a Pod that was terminated, as a
// kubelet would. It stays while its container may run, and is gone as soon as that has ended.
func TestPodThatHasEndedIsCleared(t *testing.T) {
	c := create(t, watched, "ended")
	whole(t, c)
	pod := &corev1.Pod{}
	if err := get(t, c, "ended-1", pod); err != nil {
		t.Fatal(err)
	}
	old := pod.UID
	bind(t, pod)
	if err := server.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	run := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	says(t, c, pod, corev1.PodFailed, run) // as others do when a node is gone
	time.Sleep(quiet)
	if err := get(t, c, "ended-1", pod); err != nil || pod.UID != old {
		t.Fatalf("its container may run, and it is gone: %s, %v", pod.UID, err)
	}
	says(t, c, pod, corev1.PodFailed, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1}})
	eventually(t, "another Pod", func() error { return isAnother(t, c, pod, old) })
	eventually(t, "an event", func() error { return eventsTell(t, c, "EndedPodsDeleted") })
}

// TestPodThatAFinalizerKeeps: to delete it for good has no effect, and nothing else waits for
// it. Who put the finalizer there is named.
func TestPodThatAFinalizerKeeps(t *testing.T) {
	c := create(t, watched, "kept")
	whole(t, c)
	pod, other := &corev1.Pod{}, &corev1.Pod{}
	if err := errors.Join(get(t, c, "kept-1", pod), get(t, c, "kept-2", other)); err != nil {
		t.Fatal(err)
	}
	old, another := pod.UID, other.UID
	bind(t, pod)
	eventually(t, "a finalizer", func() error {
		if err := get(t, c, "kept-1", pod); err != nil {
			return err
		}
		pod.Finalizers = []string{"example.com/queue"}
		return server.Update(t.Context(), pod)
	})
	if err := server.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	says(t, c, pod, corev1.PodSucceeded, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}})
	eventually(t, "a word about it", func() error {
		if err := get(t, c, c.Name, c); err != nil {
			return err
		}
		degraded := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionDegraded)
		if degraded == nil || !strings.Contains(degraded.Message, "kept-1: its pod cannot be deleted: "+
			"the finalizer example.com/queue, which is not the operator's, keeps it") {
			return fmt.Errorf("degraded: %+v", degraded)
		}
		return nil
	})
	if err := server.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another member's Pod", func() error { return isAnother(t, c, other, another) })
	eventually(t, "no finalizer", func() error {
		if err := get(t, c, "kept-1", pod); err != nil || pod.UID != old {
			return err
		}
		pod.Finalizers = nil
		return server.Update(t.Context(), pod)
	})
	eventually(t, "its successor", func() error { return isAnother(t, c, pod, old) })
}

// bind gives a Pod a node, without which Kubernetes deletes it at once: so it does also while
// the cache of its API server does not show the node yet.
func bind(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "nowhere"}}
	if err := server.SubResource("binding").Create(t.Context(), pod, binding); err != nil {
		t.Fatal(err)
	}
	cached := &client.GetOptions{Raw: &metav1.GetOptions{ResourceVersion: "0"}}
	eventually(t, "the node to be seen", func() error {
		if err := server.Get(t.Context(), client.ObjectKeyFromObject(pod), pod, cached); err != nil || pod.Spec.NodeName == "" {
			return fmt.Errorf("node %q, %w", pod.Spec.NodeName, err)
		}
		return nil
	})
}

// says writes what a kubelet would say of a Pod and its container.
func says(t *testing.T, c *v1beta1.EtcdCluster, pod *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) {
	t.Helper()
	eventually(t, "the status", func() error {
		if err := get(t, c, pod.Name, pod); err != nil {
			return err
		}
		if pod.DeletionTimestamp == nil {
			return errors.New("it is not terminated")
		}
		pod.Status.Phase = phase
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: state}}
		if err := server.Status().Update(t.Context(), pod, client.FieldOwner("kubelet")); err != nil {
			return fmt.Errorf("write it: %w", err)
		}
		return nil
	})
}
