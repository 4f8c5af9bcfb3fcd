package observe_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestMembersOfOperatorsThatTookOtherImages: of the same version, each by another image.
// None is to be changed, also while a newer version with an image of the user's has yet to
// wait, and when it was taken back.
func TestMembersOfOperatorsThatTookOtherImages(t *testing.T) {
	s := newScene(t)
	for name, image := range map[string]string{"a-1": "mirror.example/etcd@sha256:1", "a-2": "other.example/etcd@sha256:2"} {
		build.Images{"3.6.16": image}.Put(s.c, s.pod(name))
	}
	same := func(what string) {
		t.Helper()
		v := s.look()
		if v.Target.Version != "3.6.16" || v.Target.Image != "" {
			t.Errorf("%s: target %+v", what, v.Target)
		}
		for _, m := range v.Members {
			if m.Pod.Change != cluster.Same || !m.Pod.Usual {
				t.Errorf("%s: %s with %s: change %d, the operator's choice %t", what, m.Name, m.Pod.Image, m.Pod.Change, m.Pod.Usual)
			}
		}
	}
	same("as wanted")
	s.c.Spec.Version, s.c.Spec.Image = "3.7.3", "mine.example/etcd:v3.7.3"
	s.runs("3.6.16", "3.6.16", "3.6.16")
	s.twist = withStorage(s.twist, "3.5.0")
	same("before etcd has prepared its data")
}

// TestChosenImagesAreNotUsual: they are what the members run while the next one waits.
func TestChosenImagesAreNotUsual(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Image = "mine.example/etcd:v3.6.16"
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		s.rebuild(name, cluster.Target{Version: "3.6.16", Image: s.c.Spec.Image})
	}
	s.c.Spec.Version, s.c.Spec.Image = "3.7.3", "mine.example/etcd:v3.7.3"
	s.runs("3.6.16", "3.6.16", "3.6.16")
	s.twist = withStorage(s.twist, "3.5.0")
	v := s.look()
	if v.Target.Image != "mine.example/etcd:v3.6.16" || len(v.Select(cluster.IsOutdated)) > 0 {
		t.Errorf("target %+v, outdated %v", v.Target, cluster.Names(v.Select(cluster.IsOutdated)))
	}
	for _, m := range v.Members {
		if m.Pod.Usual {
			t.Errorf("%s: its image is taken for the operator's choice", m.Name)
		}
	}
}
