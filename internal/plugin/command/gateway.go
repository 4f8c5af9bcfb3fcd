// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/etcd-operator/etcd-operator/internal/plugin/adopting"
)

// Post sends a body to a path of a Pod's port, and returns what it answers.
type Post func(ctx context.Context, pod corev1.Pod, port, path, body string) ([]byte, error)

// throughProxy reaches a Pod by the API server's proxy, which connects to it without TLS.
func throughProxy(server kubernetes.Interface) Post {
	return func(ctx context.Context, pod corev1.Pod, port, path, body string) ([]byte, error) {
		answer, err := server.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name("http:"+pod.Name+":"+port).
			SubResource("proxy").Suffix(path).SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(ctx).Raw()
		if err != nil && len(answer) > 0 {
			err = fmt.Errorf("%w: %.300s", err, answer) // etcd's own words
		}
		return answer, err
	}
}

// ask has every member of a source say what it is, by etcd's HTTP gateway. Nothing is changed by it. unread says why that cannot be
// done at all.
func ask(ctx context.Context, k *Kubernetes, s adopting.Source) (all []adopting.Said, unread string) {
	scheme, port := s.Client()
	switch {
	case len(s.Pods) == 0:
		return nil, "its Pods are not in this namespace"
	case scheme == "https":
		return nil, "it has TLS, and this command reads no Secret"
	}
	for _, pod := range s.Pods {
		said := adopting.Said{Pod: pod.Name}
		if said.Status, said.Err = k.Post(ctx, pod, port, adopting.StatusPath, adopting.Nothing); said.Err == nil {
			said.List, said.Err = k.Post(ctx, pod, port, adopting.MembersPath, adopting.Linearized)
		}
		if said.Err == nil {
			_, said.Read = k.Post(ctx, pod, port, adopting.ReadPath, adopting.OneKey)
		}
		if adopting.NeedsUser(said.Err) {
			return nil, "authentication is enabled, and this command reads no Secret"
		}
		if isFinal(said.Err) {
			return nil, fmt.Sprintf("Pod %s cannot be asked through the API server: %v", pod.Name, said.Err)
		}
		all = append(all, said)
	}
	return all, ""
}
