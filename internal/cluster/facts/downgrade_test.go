// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// TestDataThatGoesWithItsPod: members without volumes go down in their Pods or not at all.
func TestDataThatGoesWithItsPod(t *testing.T) {
	for _, test := range []struct {
		from, to, allow string
		barred          bool
	}{
		{"3.7.3", "3.6.16", "3.6", false},
		{"3.6.16", "3.5.35", "", true},
	} {
		s := newScene(t)
		s.c.Spec.Storage = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{SizeLimit: resource.MustParse("1Gi")}}
		s.c.Spec.Version = test.to
		for _, name := range []string{"a-0", "a-1", "a-2"} {
			s.rebuild(name, cluster.Target{Version: test.from})
		}
		s.runs(test.from, test.from, test.from)
		got := s.look().Target
		if got.Version != test.from || got.Downgrade != test.allow || (got.NoUpgradePath != "") != test.barred {
			t.Errorf("from %s to %s: got %+v", test.from, test.to, got)
		}
	}
}

// TestOnlyOneGoesDown: while the only member is recreated for an older version no member is
// there to report that etcd lets it go down, and the status remembers.
func TestOnlyOneGoesDown(t *testing.T) {
	for remembered, want := range map[string]cluster.Target{
		"3.6.16": {Version: "3.6.16", Downgrade: "3.5"},
		"3.5.35": {Version: "3.5.35"},
	} {
		s := newScene(t)
		s.c.Spec.Version, s.c.Status.TargetVersion = "3.5.35", remembered
		for i := range s.c.Status.Members {
			s.c.Status.Members[i].Version = "3.6.16"
		}
		for _, name := range []string{"a-0", "a-1", "a-2"} {
			s.drop("Pod " + name)
			s.etcd.Stop(name)
		}
		if got := s.look().Target; got != want {
			t.Errorf("on the way to %s: got %+v, want %+v", remembered, got, want)
		}
	}
}

// TestGoesDown: each member that can reports that etcd lets its members go down.
func TestGoesDown(t *testing.T) {
	s := newScene(t)
	if v := s.look(); v.DowngradeTarget != "" {
		t.Errorf("nothing was allowed: got %q", v.DowngradeTarget)
	}
	s.twist = func(name string, status *etcd.Status) {
		if name == "a-1" {
			status.Downgrade = "3.5"
		}
	}
	if v := s.look(); v.DowngradeTarget != "3.5" {
		t.Errorf("got %q", v.DowngradeTarget)
	}
}

// TestAllHaveGoneDown: members of etcd 3.5 report a downgrade only when asked, which costs
// a round among them. It is done if a member may be added next.
func TestAllHaveGoneDown(t *testing.T) {
	for name, test := range map[string]struct {
		size      int32
		ephemeral bool
		runs      string
		asked     bool
	}{
		"as many as wanted":               {3, false, "3.5.35", false},
		"more are wanted":                 {5, false, "3.5.35", true},
		"they may have to be recreated":   {3, true, "3.5.35", true},
		"more are wanted, and all report": {5, false, "3.6.16", false},
		"fewer are wanted":                {1, false, "3.5.35", false},
		"recreated, and fewer are wanted": {1, true, "3.5.35", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.c.Spec.Size, s.c.Spec.Version = &test.size, test.runs
			if test.ephemeral {
				s.c.Spec.Storage = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{SizeLimit: resource.MustParse("1Gi")}}
			}
			if err := s.etcd.Client("a-0").Downgrade(t.Context(), "3.5"); err != nil {
				t.Fatal(err)
			}
			s.runs(test.runs, test.runs, test.runs)
			runs := s.twist
			s.twist = func(name string, status *etcd.Status) {
				runs(name, status)
				status.Downgrade = ""
			}
			v := s.look()
			if asked := s.callsOf("DowngradeEnabled"); len(asked) > 1 || (len(asked) == 1) != test.asked {
				t.Errorf("asked: %s", asked)
			}
			if v.Target.Cancel != test.asked || (v.DowngradeTarget == "3.5") != test.asked {
				t.Errorf("goes down to %q, cancel %t", v.DowngradeTarget, v.Target.Cancel)
			}
		})
	}
}

// TestNoMemberReports: nothing changes before a member reports whether others may join.
func TestNoMemberReports(t *testing.T) {
	s := newScene(t)
	s.c.Spec.Size, s.c.Spec.Version = ptr.To[int32](5), "3.5.35"
	s.runs("3.5.35", "3.5.35", "3.5.35")
	s.etcd.FailBefore(etcdtest.DowngradeEnabled, errors.New("no leader"))
	if v := s.look(); !strings.Contains(v.Unread, "a-0 does not say whether it goes down: DowngradeEnabled: no leader") {
		t.Errorf("got %q", v.Unread)
	}
}
