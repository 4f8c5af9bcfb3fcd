// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestLegacyEntriesOfEach: etcd 3.7 panics on entries of 3.5, so that every member drops them
// before the first goes there. A member that joins later is sent none.
func TestLegacyEntriesOfEach(t *testing.T) {
	for name, test := range map[string]struct {
		cleansed []string // members whose Pods drop old entries
		run      [3]string
		want     cluster.Target
	}{
		"on 3.6 first": {
			run: [3]string{"3.5.35", "3.5.35", "3.5.35"}, want: cluster.Target{Version: "3.6.16", DropLegacyEntries: true},
		},
		"none has dropped them": {
			run: [3]string{"3.6.16", "3.6.16", "3.6.16"}, want: cluster.Target{Version: "3.6.16", DropLegacyEntries: true},
		},
		"two have": {
			cleansed: []string{"a-0", "a-2"}, run: [3]string{"3.6.16", "3.6.16", "3.6.16"},
			want: cluster.Target{Version: "3.6.16", DropLegacyEntries: true},
		},
		"all have": {
			cleansed: []string{"a-0", "a-1", "a-2"}, run: [3]string{"3.6.16", "3.6.16", "3.6.16"},
			want: cluster.Target{Version: "3.7.3"},
		},
		"in the middle of it": {
			cleansed: []string{"a-0", "a-2"}, run: [3]string{"3.6.16", "3.7.3", "3.6.16"},
			want: cluster.Target{Version: "3.7.3"},
		},
		"all run 3.7": {run: [3]string{"3.7.3", "3.7.3", "3.7.3"}, want: cluster.Target{Version: "3.7.3"}},
	} {
		s := newScene(t)
		s.c.Spec.Version, s.c.Status.LegacyEntries = "3.7.3", true
		s.runsUsual(test.run[:]...)
		for _, name := range test.cleansed {
			s.cleanse(name)
		}
		if got := s.look().Target; got != test.want {
			t.Errorf("%s: got  %+v\nwant %+v", name, got, test.want)
		}
	}
}

// cleanse gives a member the Pod with which it drops old entries.
func (s *scene) cleanse(name string) {
	args := specs.Pod(specs.Targeted(s.c, cluster.Target{Version: "3.6.16", DropLegacyEntries: true}), name,
		specs.Joining{}).Spec.Containers[0].Args
	s.pod(name).Spec.Containers[0].Args = args
}

// TestLegacyEntriesOfOneWithoutAPod: it is not known what it has in its log.
func TestLegacyEntriesOfOneWithoutAPod(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Version, s.c.Status.LegacyEntries = "3.7.3", true
	s.cleanse("a-0")
	s.cleanse("a-1")
	s.drop("Pod a-2")
	s.etcd.Stop("a-2")
	if got, want := s.look().Target, (cluster.Target{Version: "3.6.16", DropLegacyEntries: true}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestLegacyEntriesOfOneThatStarts: a member that has only just been recreated to drop its
// old entries has them still, and is left to it.
func TestLegacyEntriesOfOneThatStarts(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Version, s.c.Status.LegacyEntries = "3.7.3", true
	s.runs("3.6.16", "3.6.16", "3.6.16")
	joining := cluster.Target{Version: "3.6.16", DropLegacyEntries: true}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		s.cleanse(name)
		s.pod(name).Annotations[v1beta1.AnnotationTemplate] = specs.Fingerprint(specs.Targeted(s.c, joining), name)
	}
	s.etcd.Stop("a-2")
	v := s.look()
	if v.Target != joining {
		t.Errorf("got  %+v\nwant %+v", v.Target, joining)
	}
	if outdated := v.Select(cluster.IsOutdated); len(outdated) > 0 {
		t.Errorf("outdated: %v", cluster.Names(outdated))
	}
}
