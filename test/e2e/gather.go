// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// A gathering is what Jobs of a namespace were, and what they said: they are deleted as soon as they were read.
type gathering struct {
	mutex sync.Mutex
	texts map[string]string
}

// gather begins one, until the spec ends.
func gather(namespace string) *gathering {
	GinkgoHelper()
	clients, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	all := &gathering{texts: map[string]string{}}
	until, stop := context.WithCancel(ctx)
	DeferCleanup(stop)
	go func() {
		for until.Err() == nil {
			all.look(until, clients, namespace)
			time.Sleep(200 * time.Millisecond)
		}
	}()
	return all
}

// look reads what there is now. What is gone, or not there yet, is left out.
func (a *gathering) look(until context.Context, clients *kubernetes.Clientset, namespace string) {
	var found batchv1.JobList
	var running corev1.PodList
	_ = api.List(until, &found, client.InNamespace(namespace))
	_ = api.List(until, &running, client.InNamespace(namespace), client.HasLabels{v1beta1.LabelTask})
	for i := range found.Items {
		a.keep("job "+found.Items[i].Name, found.Items[i].String())
	}
	for i := range running.Items {
		pod := &running.Items[i]
		a.keep("pod "+pod.Name, pod.String())
		for _, container := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			stream, err := clients.CoreV1().Pods(namespace).GetLogs(pod.Name, &corev1.PodLogOptions{Container: container.Name}).Stream(until)
			if err != nil {
				continue
			}
			text, _ := io.ReadAll(stream)
			_ = stream.Close()
			a.keep("log of "+container.Name+" in "+pod.Name, string(text))
		}
	}
}

// keep keeps the longer one of two that were read at two times: a log only grows.
func (a *gathering) keep(name, text string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if len(text) >= len(a.texts[name]) {
		a.texts[name] = text
	}
}

// text is all of it.
func (a *gathering) text() string {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	var out strings.Builder
	for name, text := range a.texts {
		out.WriteString(name + "\n" + text + "\n")
	}
	return out.String()
}
