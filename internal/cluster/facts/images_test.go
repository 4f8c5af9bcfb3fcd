// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestMembersOfOperatorsThatTookOtherImages: of the same version, each by another image.
// None is to be changed, also while a newer version with an image of the user's has yet to
// wait, and when it was rolled back.
func TestMembersOfOperatorsThatTookOtherImages(t *testing.T) {
	s := newScene(t)
	for name, image := range map[string]string{"a-1": "mirror.example/etcd@sha256:1", "a-2": "other.example/etcd@sha256:2"} {
		specs.Images{"3.6.16": image}.Put(s.c, s.pod(name))
	}
	same := func(what string) {
		t.Helper()
		v := s.look()
		if v.Target.Version != "3.6.16" || v.Target.Image != "" {
			t.Errorf("%s: target %+v", what, v.Target)
		}
		for _, m := range v.Members {
			if m.Pod.Change != cluster.Same || !m.Pod.DefaultImage {
				t.Errorf("%s: %s with %s: change %d, the operator's choice %t", what, m.Name, m.Pod.Image, m.Pod.Change, m.Pod.DefaultImage)
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
	if v.Target.Image != "mine.example/etcd:v3.6.16" || v.Count(cluster.IsOutdated) > 0 {
		t.Errorf("target %+v, outdated %v", v.Target, cluster.Names(v.Select(cluster.IsOutdated)))
	}
	for _, m := range v.Members {
		if m.Pod.DefaultImage {
			t.Errorf("%s: its image is taken for the operator's choice", m.Name)
		}
	}
}

// TestChosenImageIsRememberedByVolumes: while no member answers, or has a Pod, a member comes back
// with the image that the user has chosen for what it ran, not with the usual one.
func TestChosenImageIsRememberedByVolumes(t *testing.T) {
	const chosen = "mine.example/etcd:v3.6.16"
	s := newScene(t)
	s.c.Spec.Image = chosen
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		s.rebuild(name, cluster.Target{Version: "3.6.16", Image: chosen})
	}
	v := s.look()
	if len(v.Misfits) != 3 || v.Misfits[0].Part != cluster.Version {
		t.Errorf("volumes that have yet to say it: %+v", v.Misfits)
	}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		s.claim(name).Annotations[v1beta1.AnnotationChosenImage] = chosen
	}
	if v = s.look(); len(v.Misfits) > 0 {
		t.Errorf("all say it: %+v", v.Misfits)
	}
	s.c.Spec.Version, s.c.Spec.Image = "3.5.35", "mine.example/etcd:v3.5.35" // etcd's downgrade must be enabled first
	s.stop("a-0", "a-1", "a-2")
	s.drop("Pod a-0", "Pod a-1", "Pod a-2")
	if v = s.look(); v.Target.Version != "3.6.16" || v.Target.Image != chosen {
		t.Errorf("no member answers: target %+v", v.Target)
	}
}

// TestVolumesRecordWhatRuns: an image that was just exchanged has yet to run.
func TestVolumesRecordWhatRuns(t *testing.T) {
	s := newScene(t)
	s.rebuild("a-1", cluster.Target{Version: "3.6.16", Image: "mine.example/etcd:v3.6.16"})
	pod := s.pod("a-1")
	pod.Status.ContainerStatuses[0].ContainerID = "containerd://old"
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, v1beta1.AnnotationReplaced, "containerd://old")
	if v := s.look(); !v.Members[1].Pod.Settling || len(v.Misfits) > 0 {
		t.Errorf("settling: %t, misfits %+v", v.Members[1].Pod.Settling, v.Misfits)
	}
	delete(pod.Annotations, v1beta1.AnnotationReplaced)
	if v := s.look(); len(v.Misfits) != 1 || v.Misfits[0].Name != "a-1" {
		t.Errorf("misfits %+v", v.Misfits)
	}
}

// TestImageOfAnotherVersion: the version that a member reports counts, not the name of its image,
// once the container runs that. A build that reports no release is not judged.
func TestImageOfAnotherVersion(t *testing.T) {
	const image = "mine.example/etcd:v3.6.16"
	for _, test := range []struct {
		image, version string
		misnamed       string
	}{
		{image, "3.6.16", ""},
		{image, "3.6.17", "spec.image holds etcd 3.6.17, which a-1 runs, and not 3.6.16: correct spec.image or spec.version"},
		{image, "3.7.3", "spec.image holds etcd 3.7.3, which a-1 runs, and not 3.6.16: correct spec.image or spec.version"},
		{image, "3.6.16-mine", ""},
		{"", "3.6.16", ""},
		{
			"", "3.6.15",
			"a-1 was given the image of etcd 3.6.16, and runs 3.6.15: fix the mirror or the policy that gives it another image, and delete pod a-1",
		},
	} {
		s := newScene(t)
		s.c.Spec.Image = test.image
		s.runs("3.6.16", test.version, "3.6.16")
		s.rebuild("a-1", cluster.Target{Version: "3.6.16", Image: test.image})
		if got := s.look().Target.Misnamed; got != test.misnamed {
			t.Errorf("%s with %s: got %q, want %q", test.image, test.version, got, test.misnamed)
		}
		s.pod("a-1").Spec.Containers[0].Image = "mirror.example/" + test.image // by a webhook
		if got := s.look().Target.Misnamed; got != test.misnamed {
			t.Errorf("%s with %s, rewritten: got %q, want %q", test.image, test.version, got, test.misnamed)
		}
		s.pod("a-1").Status.ContainerStatuses[0].ContainerID = "containerd://old"
		metav1.SetMetaDataAnnotation(&s.pod("a-1").ObjectMeta, v1beta1.AnnotationReplaced, "containerd://old")
		if got := s.look().Target.Misnamed; got != "" {
			t.Errorf("%s with %s, before its container runs: got %q", test.image, test.version, got)
		}
	}
}
