// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobclient

import (
	"context"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// podFailureReason says why a Pod does not run, or how it ended, in the words of Kubernetes; empty if nothing is wrong.
func podFailureReason(pod *corev1.Pod) string {
	if pod.Status.Reason != "" { // evicted, or its node was lost
		return pod.Status.Reason + ": " + pod.Status.Message
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return c.Message
		}
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		switch waiting, ended := status.State.Waiting, status.State.Terminated; {
		case waiting != nil && waiting.Reason != "PodInitializing" && waiting.Reason != "ContainerCreating":
			return fmt.Sprintf("container %s: %s: %s", status.Name, waiting.Reason, waiting.Message)
		case ended != nil && ended.ExitCode != 0:
			return fmt.Sprintf("container %s ended with code %d (%s)", status.Name, ended.ExitCode, ended.Reason)
		}
	}
	return ""
}

// PodLogs reads logs by the API server.
func PodLogs(config *rest.Config) (Logs, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for logs: %w", err)
	}
	return func(ctx context.Context, namespace, pod, container string, last *int64) (io.ReadCloser, error) {
		options := &corev1.PodLogOptions{Container: container, TailLines: last}
		return clients.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
	}, nil
}
