// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobclient

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// TestPodIsDoneBeforeItsJobSaysSo: what a Pod said counts once each container that is to end has ended well, and not sooner. One
// that failed is a matter of its Job, which may start another.
func TestPodIsDoneBeforeItsJobSaysSo(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC))
	ended := func(code int32) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: at}}
	}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for what, test := range map[string]struct {
		states []corev1.ContainerState
		want   bool
	}{
		"it has not begun":                {nil, false},
		"it runs":                         {[]corev1.ContainerState{runs}, false},
		"one of two runs":                 {[]corev1.ContainerState{ended(0), runs}, false},
		"nothing is said of one of two":   {[]corev1.ContainerState{ended(0), {}}, false},
		"it failed":                       {[]corev1.ContainerState{ended(1)}, false},
		"it ended well":                   {[]corev1.ContainerState{ended(0)}, true},
		"both ended, and etcd still runs": {[]corev1.ContainerState{ended(0), ended(0)}, true},
	} {
		t.Run(what, func(t *testing.T) {
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j", UID: "j-uid"}}
			pod := podOfJob(job, test.states)
			tasks := &Client{Client: fake.NewClientBuilder().WithObjects(pod).Build(), Logs: oneLine}
			got, err := tasks.output(t.Context(), job)
			if err != nil || got.Ended != test.want || test.want && (!got.EndedAt.Equal(at.Time) || got.Done() == nil) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestPodThatIsBeingDeletedHasATimeToEnd: after that its node does not answer.
func TestPodThatIsBeingDeletedHasATimeToEnd(t *testing.T) {
	due := metav1.NewTime(time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC))
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "j", UID: "j-uid"}}
	for _, deleted := range []*metav1.Time{nil, &due} {
		pod := podOfJob(job, []corev1.ContainerState{{Running: &corev1.ContainerStateRunning{}}})
		pod.DeletionTimestamp, pod.Finalizers = deleted, []string{batchv1.JobTrackingFinalizer}
		tasks := &Client{Client: fake.NewClientBuilder().WithObjects(pod).Build(), Logs: oneLine}
		got, err := tasks.output(t.Context(), job)
		if err != nil || got.Ended || got.Due.IsZero() != (deleted == nil) || deleted != nil && !got.Due.Equal(due.Time) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// podOfJob has containers in these states, and an etcd beside them that never ends by itself.
func podOfJob(job *batchv1.Job, states []corev1.ContainerState) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: job.Namespace, Name: job.Name + "-x", Labels: map[string]string{batchv1.JobNameLabel: job.Name},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}}
	etcd := corev1.ContainerStatus{Name: "etcd", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{etcd}
	for i, state := range states {
		name := string(rune('a' + i))
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		if state != (corev1.ContainerState{}) {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, State: state})
		}
	}
	return pod
}

func oneLine(context.Context, string, string, string, *int64) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(`{"done":{}}` + "\n")), nil
}
