// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestPause: by the spec or by the annotation, and the view says by which. What is
// neither true nor false pauses too, and is reported.
func TestPause(t *testing.T) {
	const annotation = "the annotation etcd-operator.dev/paused is "
	for _, test := range []struct {
		spec        bool
		annotations map[string]string
		want        string
		unclear     bool
	}{
		{false, nil, "", false},
		{false, map[string]string{"paused": "true"}, "", false},
		{false, map[string]string{v1beta1.AnnotationPaused: "false"}, "", false},
		{true, nil, "spec.paused is true", false},
		{true, map[string]string{v1beta1.AnnotationPaused: "false"}, "spec.paused is true", false},
		{false, map[string]string{v1beta1.AnnotationPaused: "true"}, annotation + "true", false},
		{true, map[string]string{v1beta1.AnnotationPaused: "true"}, "spec.paused is true and " + annotation + "true", false},
		{
			false,
			map[string]string{v1beta1.AnnotationPaused: "True"},
			annotation + `"True", neither true nor false, and counts as true`, true,
		},
		{
			true,
			map[string]string{v1beta1.AnnotationPaused: ""},
			"spec.paused is true and " + annotation + `"", neither true nor false, and counts as true`, true,
		},
	} {
		s := newScene(t)
		s.c.Spec.Paused, s.c.Annotations = test.spec, test.annotations
		if got := s.look().Want; got.Paused != test.want || got.Unclear != test.unclear {
			t.Errorf("spec %t, annotations %v: got %q, unclear %t; want %q, %t",
				test.spec, test.annotations, got.Paused, got.Unclear, test.want, test.unclear)
		}
	}
	s := newScene(t)
	s.c.Annotations = map[string]string{v1beta1.AnnotationPaused: strings.Repeat("x", 1<<10)}
	if got := s.look().Want.Paused; len(got) > 200 {
		t.Errorf("%d characters are quoted", len(got))
	}
}
