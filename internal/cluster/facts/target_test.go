// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// runsUsual is runs, in Pods that were made for that.
func (s *scene) runsUsual(versions ...string) {
	for i, version := range versions {
		s.rebuild(cluster.MemberName(s.c.Name, i), cluster.Target{Version: version})
	}
	s.runs(versions...)
}

// runs makes members run these versions, with data of their own version.
func (s *scene) runs(versions ...string) {
	s.twist = func(name string, status *etcd.Status) {
		full := versions[strings.IndexByte("012", name[2])]
		status.Version, status.StorageVersion = full, full[:3]+".0"
		if strings.HasPrefix(full, "3.5.") {
			status.StorageVersion = ""
		}
	}
}

// withStorage makes members say that their data is of that version.
func withStorage(twist func(string, *etcd.Status), version string) func(string, *etcd.Status) {
	return func(name string, status *etcd.Status) {
		twist(name, status)
		status.StorageVersion = version
	}
}

// TestTarget: what members are to run now, on the way to what is wanted.
func TestTarget(t *testing.T) {
	for name, test := range map[string]struct {
		version, image string
		run            [3]string
		twist          func(*etcd.Status)
		want           cluster.Target
	}{
		"a minor version follows its newest patch": {
			version: "3.6", run: [3]string{"3.6.11", "3.6.11", "3.6.11"}, want: cluster.Target{Version: "3.6.16"},
		},
		"two minor versions: one first": {
			version: "3.7.3", run: [3]string{"3.5.35", "3.5.35", "3.5.35"}, want: cluster.Target{Version: "3.6.16"},
		},
		"the image holds what is wanted": {
			version: "3.7.3", image: "x", run: [3]string{"3.6.16", "3.6.16", "3.6.16"}, want: cluster.Target{Version: "3.7.3", Image: "x"},
		},
		"etcd has not raised its version yet": {
			version: "3.7.3", run: [3]string{"3.6.16", "3.6.16", "3.6.16"},
			twist: func(s *etcd.Status) { s.StorageVersion = "3.5.0" },
			want:  cluster.Target{Version: "3.6.16", Await: "etcd to prepare its data: a-2 runs 3.6, and its data is of 3.5, not of 3.6 yet"},
		},
		"down: etcd is asked first": {
			version: "3.6.16", run: [3]string{"3.7.3", "3.7.3", "3.7.3"}, want: cluster.Target{Version: "3.7.3", Downgrade: "3.6"},
		},
		"down, but just up: its data is of the older version still, and its log is not": {
			version: "3.6.16", run: [3]string{"3.7.3", "3.7.3", "3.7.3"}, twist: func(s *etcd.Status) { s.StorageVersion = "3.6.0" },
			want: cluster.Target{
				Version: "3.7.3", Downgrade: "3.6", Await: "etcd to prepare its data: a-2 runs 3.7, and its data is of 3.6, not of 3.7 yet",
			},
		},
		"down: its data is not there yet": {
			version: "3.6.16", run: [3]string{"3.7.3", "3.7.3", "3.7.3"}, twist: func(s *etcd.Status) { s.Downgrade = "3.6" },
			want: cluster.Target{Version: "3.7.3", Await: "etcd to prepare its data: a-2 runs 3.7, and its data is of 3.7, not of 3.6 yet"},
		},
		"down: go": {
			version: "3.6.16", run: [3]string{"3.7.3", "3.7.3", "3.7.3"},
			twist: func(s *etcd.Status) { s.Downgrade, s.StorageVersion = "3.6", "3.6.0" },
			want:  cluster.Target{Version: "3.6.16"},
		},
		"down: the first is there": {
			version: "3.6.16", run: [3]string{"3.7.3", "3.7.3", "3.6.16"},
			twist: func(s *etcd.Status) { s.Downgrade, s.StorageVersion = "3.6", "3.6.0" },
			want:  cluster.Target{Version: "3.6.16", Cancel: true},
		},
		"a downgrade is called off": {
			version: "3.7.3", run: [3]string{"3.7.3", "3.7.3", "3.6.16"},
			twist: func(s *etcd.Status) { s.Downgrade, s.StorageVersion = "3.6", "3.6.0" },
			want:  cluster.Target{Version: "3.7.3", Cancel: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.c.Spec.Version, s.c.Spec.Image = test.version, test.image
			s.runsUsual(test.run[:]...)
			if runs := s.twist; test.twist != nil {
				s.twist = func(name string, status *etcd.Status) {
					runs(name, status)
					test.twist(status)
				}
			}
			if got := s.look().Target; got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// TestLegacyEntries: members that may hold requests of etcd 3.5 drop them before the
// first of them runs 3.7, and none goes back while they go on one after the other.
func TestLegacyEntries(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Version, s.c.Status.LegacyEntries = "3.7.3", true
	s.runs("3.6.16", "3.6.16", "3.6.16")
	if got, want := s.look().Target, (cluster.Target{Version: "3.6.16", DropLegacyEntries: true}); got != want {
		t.Fatalf("not cleansed: got %+v, want %+v", got, want)
	}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		s.rebuild(name, cluster.Target{Version: "3.6.16", DropLegacyEntries: true})
	}
	want := cluster.Target{Version: "3.7.3"}
	if got := s.look().Target; got != want {
		t.Fatalf("cleansed: got %+v, want %+v", got, want)
	}
	s.c.Status.TargetVersion = "3.7.3"
	s.etcd.Stop("a-1")
	s.drop("Pod a-1")
	if got := s.look().Target; got != want {
		t.Fatalf("the first is on its way: got %+v, want %+v", got, want)
	}
}

// rebuild makes a member's Pod again.
func (s *scene) rebuild(name string, target cluster.Target) {
	again := specs.Pod(specs.Targeted(s.c, target), name, specs.Joining{})
	pod := s.pod(name)
	pod.Spec, pod.Annotations = again.Spec, again.Annotations
}

// TestRolledBack: what was rolled back is not wanted again before the spec changes.
func TestRolledBack(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Version = "3.7.3"
	s.c.Status.Rollback = &v1beta1.Rollback{Refused: "3.7.3", Version: "3.6.16", Image: image, Because: "a-1 does not run"}
	v := s.look()
	if v.Target != (cluster.Target{Version: "3.6.16", Image: image}) || !strings.Contains(v.Record.RolledBack.String(), "a-1 does not run") {
		t.Errorf("target %+v, rolled back %q", v.Target, v.Record.RolledBack)
	}
	if outdated := v.Select(cluster.IsOutdated); len(outdated) > 0 {
		t.Errorf("outdated: %v", cluster.Names(outdated))
	}
	s.c.Spec.Version = "3.7.2"
	if v = s.look(); v.Target.Version != "3.7.2" || v.Record.RolledBack != (cluster.Rollback{}) {
		t.Errorf("target %+v, rolled back %q", v.Target, v.Record.RolledBack)
	}
}

// TestRolledBackInOtherWords: a minor version means its newest patch, in the spec as in
// what an earlier operator has written down.
func TestRolledBackInOtherWords(t *testing.T) {
	newest := version.Full("3.7")
	for _, test := range []struct {
		refused, wanted string
		back            bool
	}{
		{newest, newest, true},
		{newest, "3.7", true},
		{"3.7", newest, true},
		{"3.7", "3.7", true},
		{"3.7.0", "3.7", false},
		{"3.7", "3.7.0", false},
		{newest, "3.6", false},
	} {
		s := newScene(t)
		s.c.Spec.Version = test.wanted
		s.c.Status.Rollback = &v1beta1.Rollback{Refused: test.refused, Version: "3.6.16", Image: image, Because: "a-1 does not run"}
		if v := s.look(); (v.Record.RolledBack != (cluster.Rollback{})) != test.back || test.back != (v.Target.Image == image) {
			t.Errorf("%s was refused, %s is wanted: target %+v, rolled back %q", test.refused, test.wanted, v.Target, v.Record.RolledBack)
		}
	}
}

// TestFault13NewerStatus: what a newer operator has written is left alone.
func TestFault13NewerStatus(t *testing.T) {
	s := newScene(t)
	s.c.Status.Format = v1beta1.StatusFormat + 1
	if v := s.look(); v.Newer == "" || len(v.Members) > 0 || len(s.calls) > 0 {
		t.Errorf("newer %q, members %v, calls %v", v.Newer, cluster.Names(v.Members), s.calls)
	}
}

// TestSettling: a container that is about to be exchanged is known by its ID.
func TestSettling(t *testing.T) {
	s := newScene(t)
	s.pod("a-1").Annotations[v1beta1.AnnotationReplaced] = "containerd://old"
	s.pod("a-1").Status.ContainerStatuses[0].ContainerID = "containerd://old"
	if !s.member("a-1").Pod.Settling {
		t.Error("the old container still runs, and is not seen to")
	}
	s.pod("a-1").Status.ContainerStatuses[0].ContainerID = "containerd://new"
	if s.member("a-1").Pod.Settling {
		t.Error("the new container runs, and is taken for the old")
	}
}
