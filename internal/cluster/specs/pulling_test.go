// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

func pulling(s *v1beta1.EtcdClusterSpec) {
	s.ImagePullSecrets = []v1beta1.ImagePullSecret{{Name: "registry"}, {Name: "mirror"}}
}

// TestPullSecretsAreForNewPods: they restart no member that runs. A Pod that lacks them is built again only where its image is exchanged,
// which is pulled with those that the Pod has, or where it cannot be pulled.
func TestPullSecretsAreForNewPods(t *testing.T) {
	image := func(s *v1beta1.EtcdClusterSpec) { s.Image = "registry.example/etcd:v3.6.16" }
	both := func(s *v1beta1.EtcdClusterSpec) { image(s); pulling(s) }
	waits := func(reason string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{
				{Name: "etcd", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}},
			}
		}
	}
	asMade := func(*corev1.Pod) {}
	for name, test := range map[string]struct {
		was, is change
		then    func(*corev1.Pod)
		wants   cluster.Change
	}{
		"given to members that run":         {asBefore, pulling, asMade, cluster.Same},
		"taken from members that run":       {pulling, asBefore, asMade, cluster.Same},
		"given with another image":          {asBefore, both, asMade, cluster.Rebuild},
		"another image, with the same ones": {pulling, both, asMade, cluster.Swap},
		"another image, and none are given": {asBefore, image, asMade, cluster.Swap},
		"taken with another image":          {pulling, image, asMade, cluster.Swap},
		"given to one that cannot pull":     {asBefore, pulling, waits("ImagePullBackOff"), cluster.Rebuild},
		"given to one that just failed":     {asBefore, pulling, waits("ErrImagePull"), cluster.Rebuild},
		"given to one that crashes":         {asBefore, pulling, waits("CrashLoopBackOff"), cluster.Same},
		"one that has them and cannot pull": {pulling, pulling, waits("ImagePullBackOff"), cluster.Same},
		"one that needs none, cannot pull":  {asBefore, asBefore, waits("ImagePullBackOff"), cluster.Same},
	} {
		pod := specs.Pod(with(test.was), "example-0", forming())
		test.then(pod)
		if got := specs.Change(with(test.is), pod); got != test.wants {
			t.Errorf("%s: %v, wanted %v", name, got, test.wants)
		}
	}
}

// TestPullSecretsOfServiceAccountStay: what admission has added to a Pod is no reason to build it again.
func TestPullSecretsOfServiceAccountStay(t *testing.T) {
	pod := specs.Pod(example(), "example-0", forming())
	pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "default-dockercfg-abcde"}}
	if got := specs.Change(example(), pod); got != cluster.Same {
		t.Error(got)
	}
}

func asBefore(*v1beta1.EtcdClusterSpec) {}
