package observe_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
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
		s.c.Spec.Storage = v1alpha1.Storage{Ephemeral: &v1alpha1.Ephemeral{SizeLimit: resource.MustParse("1Gi")}}
		s.c.Spec.Version = test.to
		for _, name := range []string{"a-0", "a-1", "a-2"} {
			s.rebuild(name, cluster.Target{Version: test.from})
		}
		s.runs(test.from, test.from, test.from)
		got := s.look().Target
		if got.Version != test.from || got.Downgrade != test.allow || (got.Barred != "") != test.barred {
			t.Errorf("from %s to %s: got %+v", test.from, test.to, got)
		}
	}
}

// TestOnlyOneGoesDown: while the only member is made anew for an older version nobody is
// there to say that etcd lets it go down, and the status remembers.
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

// TestGoesDown: that etcd lets its members go down is told by each that can.
func TestGoesDown(t *testing.T) {
	s := newScene(t)
	if v := s.look(); v.GoesDown != "" {
		t.Errorf("nothing was allowed: got %q", v.GoesDown)
	}
	s.twist = func(name string, status *etcd.Status) {
		if name == "a-1" {
			status.Downgrade = "3.5"
		}
	}
	if v := s.look(); v.GoesDown != "3.5" {
		t.Errorf("got %q", v.GoesDown)
	}
}
