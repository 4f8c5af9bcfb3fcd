// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestLimits: what the operator's administrator does not allow is a fact that the plan refuses, whatever runs.
func TestLimits(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Image = "registry.example/etcd:v3.6.16"
	s.limits = limits.Limits{Images: limits.Names{"registry.example/*"}}
	if got := s.look().Want.Forbidden; got != "" {
		t.Errorf("what is allowed: %s", got)
	}
	s.limits = limits.Limits{Images: limits.Names{"other.example/*"}}
	view := s.look()
	if step, because := plan.Next(view); because != "keep to the limits" || !strings.Contains(step.String(), "spec.image") {
		t.Errorf("it plans %s (%s)", step, because)
	}
}
