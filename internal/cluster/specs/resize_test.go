// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

func resources(requests, limits map[corev1.ResourceName]string) corev1.ResourceRequirements {
	list := func(of map[corev1.ResourceName]string) corev1.ResourceList {
		all := corev1.ResourceList{}
		for name, quantity := range of {
			all[name] = resource.MustParse(quantity)
		}
		return all
	}
	return corev1.ResourceRequirements{Requests: list(requests), Limits: list(limits)}
}

// TestIsResizable: as Kubernetes has it. Whatever it refuses takes a new Pod.
func TestIsResizable(t *testing.T) {
	type quantities = map[corev1.ResourceName]string
	small, large := quantities{"cpu": "1", "memory": "1Gi"}, quantities{"cpu": "2", "memory": "2Gi"}
	for name, test := range map[string]struct {
		have, want corev1.ResourceRequirements
		is         bool
	}{
		"more":                    {resources(small, nil), resources(large, nil), true},
		"less":                    {resources(large, nil), resources(small, nil), true},
		"one more":                {resources(quantities{"cpu": "1"}, nil), resources(small, nil), true},
		"one less":                {resources(small, nil), resources(quantities{"cpu": "1"}, nil), false},
		"guaranteed stays so":     {resources(small, small), resources(large, large), true},
		"guaranteed by limits":    {resources(small, small), resources(nil, large), true},
		"guaranteed is burstable": {resources(small, small), resources(small, large), false},
		"burstable is guaranteed": {resources(small, large), resources(large, large), false},
		"best effort is burst":    {resources(nil, nil), resources(small, nil), false},
		"a disk is no computing": {
			resources(quantities{"cpu": "1", "ephemeral-storage": "1Gi"}, nil),
			resources(quantities{"cpu": "1", "ephemeral-storage": "2Gi"}, nil), false,
		},
		"nor is a new one": {
			resources(quantities{"cpu": "1"}, nil), resources(quantities{"cpu": "1", "ephemeral-storage": "2Gi"}, nil), false,
		},
	} {
		c := example()
		c.Spec.Resources.Requests, c.Spec.Resources.Limits = test.have.Requests, test.have.Limits
		pod := specs.Pod(c, "example-0", joining())
		c.Spec.Resources.Requests, c.Spec.Resources.Limits = test.want.Requests, test.want.Limits
		if got := specs.IsResizable(pod, c, specs.ResizesAll); got != test.is {
			t.Errorf("%s: %t", name, got)
		}
		if specs.IsResizable(pod, c, specs.ResizesNothing) {
			t.Errorf("%s: where nothing can change", name)
		}
	}
}

// TestLessMemory: Kubernetes 1.33 takes no memory from a running container, and refuses the
// whole resize. A lower request takes nothing.
func TestLessMemory(t *testing.T) {
	type quantities = map[corev1.ResourceName]string
	requests, limits := quantities{"memory": "1Gi"}, quantities{"cpu": "4", "memory": "4Gi"}
	for name, test := range map[string]struct {
		want corev1.ResourceRequirements
		is   bool
	}{
		"a lower limit":     {resources(requests, quantities{"cpu": "4", "memory": "2Gi"}), false},
		"with more of else": {resources(requests, quantities{"cpu": "8", "memory": "2Gi"}), false},
		"a higher limit":    {resources(requests, quantities{"cpu": "4", "memory": "8Gi"}), true},
		"less processor":    {resources(requests, quantities{"cpu": "2", "memory": "4Gi"}), true},
		"a lower request":   {resources(quantities{"memory": "512Mi"}, limits), true},
	} {
		c := example()
		have := resources(requests, limits)
		c.Spec.Resources.Requests, c.Spec.Resources.Limits = have.Requests, have.Limits
		pod := specs.Pod(c, "example-0", joining())
		c.Spec.Resources.Requests, c.Spec.Resources.Limits = test.want.Requests, test.want.Limits
		if got := specs.IsResizable(pod, c, specs.ResizesMost); got != test.is {
			t.Errorf("%s: %t", name, got)
		}
		if !specs.IsResizable(pod, c, specs.ResizesAll) {
			t.Errorf("%s: not where all can change", name)
		}
	}
}

// TestEtcdIsFoundByItsName: a webhook has added a container before it. What is asked of the
// Pod is asked of etcd's.
func TestEtcdIsFoundByItsName(t *testing.T) {
	small, large := map[corev1.ResourceName]string{"cpu": "1"}, map[corev1.ResourceName]string{"cpu": "2"}
	c := example()
	c.Spec.Resources = v1beta1.Resources{Requests: resources(small, nil).Requests}
	pod := specs.Pod(specs.Targeted(c, cluster.Target{Version: "3.6.16", DropLegacyEntries: true}), "example-0", forming())
	mesh := corev1.Container{Name: "mesh", Image: "mesh:v1", Resources: resources(map[corev1.ResourceName]string{"memory": "1Gi"}, nil)}
	pod.Spec.Containers = append([]corev1.Container{mesh}, pod.Spec.Containers...)
	pod.Annotations[v1beta1.AnnotationTemplate] = "of v0.1"
	c.Spec.Resources.Requests = resources(large, nil).Requests
	if !specs.IsResizable(pod, c, specs.ResizesAll) {
		t.Error("another container's resources are judged")
	}
	if !specs.RunsDefaultImage(pod, "3.6.16") {
		t.Error("another container's image is judged")
	}
	if !specs.IsCleansing(pod) {
		t.Error("another container's arguments are judged")
	}
	specs.Etcd(pod).Lifecycle = nil
	pod.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}}
	if specs.Lingers(pod) {
		t.Error("another container lingers, etcd does not")
	}
}

// TestPodWithoutEtcd: the operator has not made it. Nothing in it is trusted, and nothing breaks.
func TestPodWithoutEtcd(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "mesh", Image: usual}}}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "mesh", ContainerID: "containerd://mesh"}}
	if specs.Etcd(pod).Image != "" || specs.EtcdStatus(pod).ContainerID != "" || specs.RunsDefaultImage(pod, "3.6.16") {
		t.Error("another container is taken for etcd's")
	}
	if got := specs.Change(example(), pod); got != cluster.Rebuild {
		t.Errorf("change %d", got)
	}
}
