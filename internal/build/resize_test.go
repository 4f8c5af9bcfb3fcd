package build_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/internal/build"
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
		pod := build.Pod(c, "example-0", joining())
		c.Spec.Resources.Requests, c.Spec.Resources.Limits = test.want.Requests, test.want.Limits
		if got := build.IsResizable(pod, c); got != test.is {
			t.Errorf("%s: %t", name, got)
		}
	}
}
