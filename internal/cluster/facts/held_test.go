// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestEvictedDuringAHaltedRoll: a-0 does not run the new version, and a-2 is drained. It
// comes back with what it ran.
func TestEvictedDuringAHaltedRoll(t *testing.T) {
	s := newScene(t)
	for _, name := range []string{"a-1", "a-0"} {
		if name == "a-0" {
			s.c.Spec.Version = "3.7.3"
		}
		s.drop("Pod " + name)
		s.objects = append(s.objects, s.newPod(name))
	}
	s.runsUsual("3.7.3", "3.6.16", "3.6.16")
	if v := s.look(); v.Target.Version != "3.7.3" || v.Target.Current != (cluster.Revision{}) {
		t.Fatalf("it runs: %+v", v.Target)
	}
	s.stop("a-0")
	s.etcd.Stop("a-2")
	s.drop("Pod a-2")
	v := s.look()
	m, _ := v.Member("a-2")
	if to := v.Target.For(m); v.Target.Version != "3.7.3" || to.Version != "3.6.16" || to.Image != "" {
		t.Errorf("a-2 is to run %+v, the target is %+v", to, v.Target)
	}
}
