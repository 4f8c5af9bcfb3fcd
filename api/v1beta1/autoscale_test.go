// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// TestMemberResources: a limit is raised, and the request with it in the same proportion; neither goes below the spec nor above the most.
func TestMemberResources(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		all := corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("1Gi")}
		for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
			if text != "" {
				all[name] = resource.MustParse(text)
			}
		}
		return all
	}
	for what, test := range map[string]struct {
		requests, limits corev1.ResourceList
		cpu, memory      string // given
		want             string // requests and limits
		scaled           bool
	}{
		"nothing is given":         {list("1", "1Gi"), list("2", "2Gi"), "", "", "1 1Gi 2 2Gi", false},
		"more memory":              {list("1", "1Gi"), list("2", "2Gi"), "", "3Gi", "1 1536Mi 2 3Gi", true},
		"more of both":             {list("2", "2Gi"), list("2", "2Gi"), "2500m", "3Gi", "2500m 3Gi 2500m 3Gi", true},
		"requests alone":           {list("500m", "1Gi"), nil, "1", "1536Mi", "1 1536Mi 0 0", true},
		"above the most":           {nil, list("2", "2Gi"), "9", "90Gi", "0 0 4 8Gi", true},
		"below a spec that grew":   {nil, list("2", "2Gi"), "1", "1Gi", "0 0 2 2Gi", false},
		"of what the spec has not": {list("", "1Gi"), nil, "3", "1Gi", "0 1Gi 0 0", false},
	} {
		t.Run(what, func(t *testing.T) {
			c := &EtcdCluster{Spec: EtcdClusterSpec{Resources: Resources{Requests: test.requests, Limits: test.limits}}}
			c.Spec.Autoscale = &Autoscale{Max: AutoscaleMax{CPU: ptr.To(resource.MustParse("4")), Memory: ptr.To(resource.MustParse("8Gi"))}}
			if test.cpu != "" {
				c.Status.Autoscale = &AutoscaleStatus{CPU: ptr.To(resource.MustParse(test.cpu))}
			}
			if test.memory != "" {
				c.Status.Autoscale = ptr.To(ptr.Deref(c.Status.Autoscale, AutoscaleStatus{}))
				c.Status.Autoscale.Memory = ptr.To(resource.MustParse(test.memory))
			}
			before := c.Spec.Resources.DeepCopy()
			is := c.MemberResources()
			got := fmt.Sprintf("%s %s %s %s", is.Requests.Cpu(), is.Requests.Memory(), is.Limits.Cpu(), is.Limits.Memory())
			if got != test.want || c.IsScaled() != test.scaled {
				t.Errorf("%s, scaled %t", got, c.IsScaled())
			}
			if c.Spec.Resources.Limits.Memory().Cmp(*before.Limits.Memory()) != 0 {
				t.Error("the spec itself was changed")
			}
			c.Spec.Autoscale = nil
			if is := c.MemberResources(); c.IsScaled() || is.Limits.Memory().Cmp(*before.Limits.Memory()) != 0 {
				t.Errorf("without autoscale: %v", is)
			}
		})
	}
}
