package act_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/act"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/plan"
)

var upgrade = plan.Swap{Name: "a-1", UID: "pod-1", Version: "3.7.3"}

// upgrading is a cluster whose member a-1, in the container that is named, is to get
// another image.
func upgrading(t *testing.T, container string) *scene {
	p := pod("a-1", "pod-1")
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{ContainerID: container}}
	s := newScene(t, example(), seen(), p)
	s.view.Target.Version = "3.7.3"
	return s
}

// TestSwapMarksTheOldContainer: by its ID one can tell when the new one runs. Done again
// after that, the new one is not taken for the old.
func TestSwapMarksTheOldContainer(t *testing.T) {
	s := upgrading(t, "containerd://old")
	s.mustDo(upgrade)
	var p corev1.Pod
	s.get("a-1", &p)
	if got := p.Annotations[v1alpha1.AnnotationReplaced]; got != "containerd://old" {
		t.Errorf("%q is marked", got)
	}
	p.Status.ContainerStatuses[0].ContainerID = "containerd://new"
	if err := s.api.Status().Update(t.Context(), &p); err != nil {
		t.Fatal(err)
	}
	s.mustDo(upgrade)
	s.get("a-1", &p)
	if got := p.Annotations[v1alpha1.AnnotationReplaced]; got != "containerd://old" {
		t.Errorf("done again: %q is marked", got)
	}
}

// TestSwapTakesThePodOutOfTheClientService: the kubelet restarts the container in a Pod
// that stays, so nothing else would. An only member stays: there is nobody else.
func TestSwapTakesThePodOutOfTheClientService(t *testing.T) {
	for voters, want := range map[int]string{1: build.Serving, 3: build.Leaving} {
		s := upgrading(t, "containerd://old")
		for i := range s.view.Members {
			if s.view.Members[i].Role = cluster.Voter; i >= voters {
				s.view.Members[i].Role = cluster.Unlisted
			}
		}
		p := pod("a-1", "pod-1")
		s.get("a-1", p)
		p.Labels = map[string]string{build.ComponentLabel: build.Serving}
		if err := s.api.Update(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		s.mustDo(upgrade)
		s.get("a-1", p)
		if got := p.Labels[build.ComponentLabel]; got != want {
			t.Errorf("of %d voters: %q, want %q", voters, got, want)
		}
	}
}

// TestOnlyTheSeenPodIsChanged: one that has taken its place stays as it is.
func TestOnlyTheSeenPodIsChanged(t *testing.T) {
	for _, step := range []plan.Step{plan.Swap{Name: "a-1", UID: "pod-0"}, plan.Resize{Name: "a-1", UID: "pod-0"}} {
		s := upgrading(t, "containerd://old")
		if err := s.do(step); !errors.Is(err, act.ErrChanged) || len(s.api.writes) > 0 {
			t.Errorf("%s: got %v, wrote %v", step, err, s.api.writes)
		}
	}
}
