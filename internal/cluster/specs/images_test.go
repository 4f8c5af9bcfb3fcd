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

const (
	usual   = "gcr.io/etcd-development/etcd:v3.6.16"
	digest  = "mirror.example/etcd@sha256:1111111111111111111111111111111111111111111111111111111111111111"
	another = "other.example/etcd@sha256:2222222222222222222222222222222222222222222222222222222222222222"
)

// configured are the images of an operator that is configured with one for the example's version.
func configured(image string) specs.Images { return specs.Images{"3.6.16": image, "3.7.3": another} }

// made is the Pod that such an operator makes.
func made(by specs.Images, image string) *corev1.Pod {
	c := with(func(s *v1beta1.EtcdClusterSpec) { s.Image = image })
	return by.Put(c, specs.Pod(c, "example-0", forming()))
}

// TestImages: the user's choice comes first, then what the operator is configured with, then
// etcd's own name. Only the operator's own choice is written down.
func TestImages(t *testing.T) {
	for _, test := range []struct {
		by           specs.Images
		chosen, want string
		noted        bool
	}{
		{nil, "", usual, false},
		{specs.Images{"3.6.15": digest}, "", usual, false},
		{specs.Images{"3.6.16": ""}, "", usual, false},
		{configured(digest), "", digest, true},
		{configured(digest), another, another, false},
		{nil, another, another, false},
	} {
		pod := made(test.by, test.chosen)
		note, noted := pod.Annotations[v1beta1.AnnotationImage]
		if got := pod.Spec.Containers[0].Image; got != test.want || noted != test.noted || noted && note != test.want {
			t.Errorf("configured %v, chosen %q: image %s, noted %q; want %s", test.by, test.chosen, got, note, test.want)
		}
	}
}

// TestUpdateOfTheOperatorRestartsNoMember: whatever image an earlier or later operator takes
// for the same version, also one that knows nothing of this, and the first.
func TestUpdateOfTheOperatorRestartsNoMember(t *testing.T) {
	first := specs.Pod(example(), "example-0", forming())
	first.Annotations[v1beta1.AnnotationTemplate] = "c9bdad14050cbfd0" // by v0.1.0
	second := specs.Pod(example(), "example-0", forming())             // as by v0.2.0
	for name, pod := range map[string]*corev1.Pod{
		"v0.1": first, "v0.2": second, "a mirror": made(configured(digest), ""), "another mirror": made(configured(another), ""),
	} {
		if got := specs.Change(example(), pod); got != cluster.Same {
			t.Errorf("%s: got %d, want none", name, got)
		}
		if !specs.RunsDefaultImage(pod, "3.6.16") {
			t.Errorf("%s: its image is taken for the user's", name)
		}
	}
	const bySecond = "2-74aa109bf96f4de4-ae95e371ebb89083-44136fa355b3678a" // of the same Pod, by v0.2.0
	if got := made(configured(digest), "").Annotations[v1beta1.AnnotationTemplate]; got != bySecond {
		t.Errorf("v0.2 would create the Pod again: its fingerprint is %s, want %s", got, bySecond)
	}
}

// TestChosenImageIsRun: what the user chooses is run by all, and rolled back too. A user who
// chooses what runs already changes nothing.
func TestChosenImageIsRun(t *testing.T) {
	for _, test := range []struct {
		pod  *corev1.Pod
		want string // by the user
		is   cluster.Change
	}{
		{made(configured(digest), ""), digest, cluster.Same},
		{made(configured(digest), ""), usual, cluster.Swap},
		{made(configured(digest), ""), another, cluster.Swap},
		{made(nil, ""), digest, cluster.Swap},
		{made(nil, ""), usual, cluster.Same},
		{made(nil, digest), "", cluster.Swap},
		{made(nil, digest), digest, cluster.Same},
		{made(configured(digest), another), "", cluster.Swap},
	} {
		c := with(func(s *v1beta1.EtcdClusterSpec) { s.Image = test.want })
		if got := specs.Change(c, test.pod); got != test.is {
			t.Errorf("runs %s, %q is chosen: got %d, want %d", test.pod.Spec.Containers[0].Image, test.want, got, test.is)
		}
	}
	if specs.RunsDefaultImage(made(configured(digest), another), "3.6.16") || specs.RunsDefaultImage(made(nil, digest), "3.6.16") {
		t.Error("the user's image is taken for the operator's")
	}
}

// TestTakeImage: after an exchange the Pod is as one that was made so, and it says whether
// there is anything to wait for.
func TestTakeImage(t *testing.T) {
	for _, test := range []struct {
		pod, from *corev1.Pod
		differs   bool
	}{
		{made(configured(digest), ""), made(nil, usual), true},
		{made(nil, usual), made(configured(digest), ""), true},
		{made(configured(digest), ""), made(nil, digest), false},
		{made(nil, digest), made(configured(digest), ""), false},
	} {
		if got := specs.TakeImage(test.pod, test.from); got != test.differs {
			t.Errorf("got %t, want %t", got, test.differs)
		}
		is, want := test.pod, test.from
		if is.Spec.Containers[0].Image != want.Spec.Containers[0].Image ||
			is.Annotations[v1beta1.AnnotationImage] != want.Annotations[v1beta1.AnnotationImage] {
			t.Errorf("got %s, noted %q", is.Spec.Containers[0].Image, is.Annotations[v1beta1.AnnotationImage])
		}
	}
}

// TestUsersCannotNoteAnImage: not even if admission let the annotation through.
func TestUsersCannotNoteAnImage(t *testing.T) {
	c := with(func(s *v1beta1.EtcdClusterSpec) {
		s.PodMetadata.Annotations = map[string]string{v1beta1.AnnotationImage: digest}
	})
	if note, noted := specs.Pod(c, "example-0", forming()).Annotations[v1beta1.AnnotationImage]; noted {
		t.Errorf("it is noted that the operator chose %q", note)
	}
}
