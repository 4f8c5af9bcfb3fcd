// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/act"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

var upgrade = plan.UpdateImage{Name: "a-1", UID: "pod-1", Version: "3.7.3"}

// upgrading is a cluster whose member a-1, in the container that is named, is to get
// another image.
func upgrading(t *testing.T, container string) *scene {
	p := pod("a-1", "pod-1")
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "etcd", ContainerID: container}}
	s := newScene(t, example(), seen(), p)
	s.view.Target.Version = "3.7.3"
	return s
}

// TestSwapMarksTheOldContainer: its ID shows when the new one runs. Done again after that,
// the new one is not taken for the old.
func TestSwapMarksTheOldContainer(t *testing.T) {
	s := upgrading(t, "containerd://old")
	s.mustDo(upgrade)
	var p corev1.Pod
	s.get("a-1", &p)
	if got := p.Annotations[v1beta1.AnnotationReplaced]; got != "containerd://old" {
		t.Errorf("%q is marked", got)
	}
	p.Status.ContainerStatuses[0].ContainerID = "containerd://new"
	if err := s.api.Status().Update(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	s.mustDo(upgrade)
	s.get("a-1", &p)
	if got := p.Annotations[v1beta1.AnnotationReplaced]; got != "containerd://old" {
		t.Errorf("done again: %q is marked", got)
	}
}

// TestSwapThatAWebhookUndoes: nothing restarts, so nothing waits for it.
func TestSwapThatAWebhookUndoes(t *testing.T) {
	s := upgrading(t, "containerd://old")
	var p corev1.Pod
	s.get("a-1", &p)
	s.api.image = p.Spec.Containers[0].Image
	s.mustDo(upgrade)
	s.get("a-1", &p)
	if got, marked := p.Annotations[v1beta1.AnnotationReplaced]; marked || p.Spec.Containers[0].Image != s.api.image {
		t.Errorf("%q is marked, the image is %s", got, p.Spec.Containers[0].Image)
	}
	wanted := specs.Targeted(s.c, s.view.Target)
	if got := specs.Change(wanted, &p); got != cluster.Same {
		t.Errorf("it is to be done again: %v", got)
	}
}

// TestSwapTakesThePodOutOfTheClientService: the kubelet restarts the container in a Pod
// that stays, so nothing else would. An only member stays: there is no other.
func TestSwapTakesThePodOutOfTheClientService(t *testing.T) {
	for voters, want := range map[int]string{1: specs.Serving, 3: specs.Leaving} {
		s := upgrading(t, "containerd://old")
		for i := range s.view.Members {
			if s.view.Members[i].Role = cluster.Voter; i >= voters {
				s.view.Members[i].Role = cluster.Unlisted
			}
		}
		p := pod("a-1", "pod-1")
		s.get("a-1", p)
		p.Labels = map[string]string{specs.ComponentLabel: specs.Serving}
		if err := s.api.Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		s.mustDo(upgrade)
		s.get("a-1", p)
		if got := p.Labels[specs.ComponentLabel]; got != want {
			t.Errorf("of %d voters: %q, want %q", voters, got, want)
		}
	}
}

// TestSwapToTheSameImage: the user had pinned what the operator takes, and takes the pin
// off. The container goes on, so nothing is marked for others to wait for.
func TestSwapToTheSameImage(t *testing.T) {
	const mirror = "mirror.example/etcd:v3.6.16"
	pinned := example()
	pinned.Spec.Image = mirror
	p := specs.Pod(pinned, "a-1", specs.Joining{})
	p.UID, p.Status.ContainerStatuses = "pod-1", []corev1.ContainerStatus{{Name: "etcd", ContainerID: "containerd://old"}}
	s := newScene(t, example(), seen(), p)
	s.actor.Images = specs.Images{"3.6.16": mirror}
	s.mustDo(plan.UpdateImage{Name: "a-1", UID: "pod-1", Version: "3.6.16"})
	s.get("a-1", p)
	if p.Annotations[v1beta1.AnnotationReplaced] != "" || p.Labels[specs.ComponentLabel] != specs.Serving ||
		p.Annotations[v1beta1.AnnotationImage] != mirror || p.Spec.Containers[0].Image != mirror {
		t.Errorf("image %s, labels %v, annotations %v", p.Spec.Containers[0].Image, p.Labels, p.Annotations)
	}
	if got := specs.Change(s.c, p); got != cluster.Same {
		t.Errorf("change %d is left", got)
	}
}

// TestActorUsesConfiguredImages: for Pods that it creates, forces and updates.
func TestActorUsesConfiguredImages(t *testing.T) {
	const before, after = "mirror.example/etcd@sha256:1", "mirror.example/etcd@sha256:2"
	by := specs.Images{"3.6.16": before, "3.7.3": after}
	s := newScene(t, example(), seen())
	s.actor.Images = by
	s.view.Members[1].Volume = cluster.Kept
	s.mustDo(plan.CreatePods{Names: []string{"a-1"}})
	p := &corev1.Pod{}
	if s.get("a-1", p); p.Spec.Containers[0].Image != before {
		t.Errorf("made with %s", p.Spec.Containers[0].Image)
	}
	s.view.Target.Version = "3.7.3"
	s.mustDo(plan.UpdateImage{Name: "a-1", UID: string(p.UID), Version: "3.7.3"})
	if s.get("a-1", p); p.Spec.Containers[0].Image != after || p.Annotations[v1beta1.AnnotationImage] != after {
		t.Errorf("exchanged for %s", p.Spec.Containers[0].Image)
	}

	recovering := example()
	recovering.Status.Recovering = "a-0"
	s = newScene(t, recovering, seen())
	s.actor.Images = by
	s.mustDo(plan.CreatePods{Names: []string{"a-0"}, Forced: true})
	if s.get("a-0", p); p.Spec.Containers[0].Image != before {
		t.Errorf("forced with %s", p.Spec.Containers[0].Image)
	}
}

// TestOtherContainersAreLeftAlone: a webhook has added a container before etcd's, or behind
// it.
func TestOtherContainersAreLeftAlone(t *testing.T) {
	c := example()
	c.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	mesh, running := corev1.Container{Name: "mesh", Image: "mesh:v1"}, corev1.ContainerStatus{Name: "mesh", ContainerID: "containerd://mesh"}
	for place := range 2 {
		p := pod("a-1", "pod-1")
		p.Spec.Containers = slices.Insert(p.Spec.Containers, place, mesh)
		p.Status.ContainerStatuses = slices.Insert([]corev1.ContainerStatus{{Name: "etcd", ContainerID: "containerd://old"}}, place, running)
		s := newScene(t, c, seen(), p)
		s.view.Target.Version = "3.7.3"
		s.mustDo(upgrade)
		s.mustDo(plan.ResizePod{Name: "a-1", UID: "pod-1"})
		s.get("a-1", p)
		if got := p.Spec.Containers[place]; !reflect.DeepEqual(got, mesh) {
			t.Errorf("in place %d it has become %+v", place, got)
		}
		etcd := p.Spec.Containers[1-place]
		if etcd.Image != "gcr.io/etcd-development/etcd:v3.7.3" || !etcd.Resources.Limits.Cpu().Equal(resource.MustParse("2")) {
			t.Errorf("beside one in place %d etcd has image %s and limits %v", place, etcd.Image, etcd.Resources.Limits)
		}
		if got := p.Annotations[v1beta1.AnnotationReplaced]; got != "containerd://old" {
			t.Errorf("beside one in place %d %s is marked", place, got)
		}
	}
}

// TestOnlyTheSeenPodIsChanged: one that has taken its place stays as it is.
func TestOnlyTheSeenPodIsChanged(t *testing.T) {
	for _, step := range []plan.Step{plan.UpdateImage{Name: "a-1", UID: "pod-0"}, plan.ResizePod{Name: "a-1", UID: "pod-0"}} {
		s := upgrading(t, "containerd://old")
		if err := s.do(step); !errors.Is(err, act.ErrChanged) || len(s.api.writes) > 0 {
			t.Errorf("%s: got %v, wrote %v", step, err, s.api.writes)
		}
	}
}
