// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

const (
	damagedLog = `{"level":"fatal","ts":"2026-01-01T00:00:01Z","msg":"discovery failed","error":"walpb: crc mismatch"}` + "\n"
	emptiedLog = `{"level":"fatal","ts":"2026-01-01T00:00:01Z","msg":"discovery failed","error":` +
		`"cannot fetch cluster info from peer urls: could not retrieve cluster information from the given URLs"}` + "\n"
	forgottenLog = "panic: tocommit(382) is out of range [lastIndex(0)]. Was the raft log corrupted, truncated, or lost?\n\n" +
		"goroutine 1 [running]:\n\t/main.go:1 +0x1\n"
)

// TestFault28DamageIsOfAContainerThatDoesNotRun: what etcd said when it ended is not
// held against it once it runs again.
func TestFault28DamageIsOfAContainerThatDoesNotRun(t *testing.T) {
	end, none := ended("Error", 1, damagedLog), corev1.ContainerState{}
	for name, test := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"ended":           {state(end, none), "its data is damaged"},
		"waits":           {state(waiting("CrashLoopBackOff", ""), end), "its data is damaged"},
		"runs again":      {state(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, end), ""},
		"out of memory":   {state(ended("OOMKilled", 137, damagedLog), none), ""},
		"emptied":         {state(ended("Error", 1, emptiedLog), none), "its data directory was emptied"},
		"nothing is said": {state(ended("Error", 1, ""), none), ""},
	} {
		s := newScene(t)
		s.etcd.Stop("a-1")
		s.pod("a-1").Status = test.status
		if got := s.member("a-1").Damage; !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestNewLearnerIsNotEmptied: one that has never started has no data yet, unless the leader
// has seen some of it before it published its name.
func TestNewLearnerIsNotEmptied(t *testing.T) {
	for name, test := range map[string]struct {
		end  corev1.ContainerState
		want string
	}{
		"it finds no member":               {ended("Error", 1, emptiedLog), ""},
		"it has lost what the leader sent": {ended("Error", 2, forgottenLog), "its data is damaged: "},
	} {
		s := newScene(t)
		if _, err := s.etcd.Client("a-0").AddLearner(t.Context(), etcdtest.PeerURL("a-3")); err != nil {
			t.Fatal(err)
		}
		learner := s.newPod("a-3")
		specs.SetJoining(s.c, learner, specs.Joining{Members: []string{"a-0", "a-1", "a-2", "a-3"}})
		learner.Status = state(test.end, corev1.ContainerState{})
		s.objects = append(s.objects, learner)
		m := s.member("a-3")
		if m.Role != cluster.Learner || m.Started || !strings.HasPrefix(m.Damage, test.want) || (m.Damage == "") != (test.want == "") {
			t.Errorf("%s: saw %+v", name, m)
		}
	}
}

// TestNewMemberWithAnOldInitialCluster: it has no data, and etcd lets it join only by the current
// member list.
func TestNewMemberWithAnOldInitialCluster(t *testing.T) {
	none := corev1.ContainerState{}
	runs := state(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, none)
	refused, forgets := state(ended("Error", 1, emptiedLog), none), state(ended("Error", 2, forgottenLog), none)
	for name, test := range map[string]struct {
		initial                     []string
		is                          corev1.PodStatus
		left, unread, want, damaged bool
	}{
		"of one who has gone":     {initial: []string{"a-0", "a-1", "a-2", "a-3", "a-9"}, is: refused, want: true},
		"not of one who came":     {initial: []string{"a-0", "a-1", "a-3"}, is: refused, want: true},
		"of those who are left":   {initial: []string{"a-0", "a-1", "a-3"}, is: refused, left: true},
		"of all":                  {initial: []string{"a-0", "a-1", "a-2", "a-3"}, is: refused},
		"and is still starting":   {initial: []string{"a-0", "a-1", "a-3"}, is: runs},
		"and the list is unknown": {initial: []string{"a-0", "a-1", "a-3"}, is: refused, unread: true},
		"and lost its data since": {initial: []string{"a-0", "a-1", "a-3"}, is: forgets, damaged: true},
	} {
		s := newScene(t)
		if _, err := s.etcd.Client("a-0").AddLearner(t.Context(), etcdtest.PeerURL("a-3")); err != nil {
			t.Fatal(err)
		}
		learner := s.newPod("a-3")
		specs.SetJoining(s.c, learner, specs.Joining{Members: test.initial})
		learner.Status = test.is
		s.objects = append(s.objects, learner)
		if test.left {
			if err := s.etcd.Client("a-0").Remove(t.Context(), s.member("a-2").ID); err != nil {
				t.Fatal(err)
			}
		}
		if test.unread {
			s.etcd.Stop("a-1")
			s.etcd.Stop("a-2")
		}
		if m := s.member("a-3"); m.Pod.StalePeerList != test.want || (m.Damage != "") != test.damaged {
			t.Errorf("%s: misled %t, damage %q", name, m.Pod.StalePeerList, m.Damage)
		}
	}
}

// TestFirstMemberThatNeverStarted: etcd lists all first members by name from the start, but
// client URLs only of those that have run. It has no data that could be emptied. One that
// has no other member in its initial cluster can never get any: it is replaced.
func TestFirstMemberThatNeverStarted(t *testing.T) {
	for name, test := range map[string]struct {
		joining specs.Joining
		want    string
	}{
		"with the others":         {specs.Joining{Members: []string{"a-0", "a-1", "a-2"}}, ""},
		"alone":                   {specs.Joining{Members: []string{"a-2"}}, "its data directory was emptied"},
		"made with the first":     {specs.Joining{New: true, Members: []string{"a-0", "a-1", "a-2"}}, ""},
		"made for a cluster of 1": {specs.Joining{New: true, Members: []string{"a-2"}}, "its data directory was emptied"},
	} {
		s := newScene(t)
		s.etcd.Stop("a-2")
		s.members = func(all []etcd.Member) { all[2].ClientURLs = nil }
		p := s.pod("a-2")
		specs.SetJoining(s.c, p, test.joining)
		p.Status = state(ended("Error", 1, emptiedLog), corev1.ContainerState{})
		m := s.member("a-2")
		if m.Started || m.Role != cluster.Voter || !strings.HasPrefix(m.Damage, test.want) || (m.Damage == "") != (test.want == "") {
			t.Errorf("%s: started %t, role %d, damage %q", name, m.Started, m.Role, m.Damage)
		}
		s.drop("Pod a-2", "PersistentVolumeClaim a-2")
		if m := s.member("a-2"); !cluster.IsLost(m) {
			t.Errorf("%s: a voter without a volume is not lost: it may have taken part", name)
		}
	}
	s := newScene(t)
	s.etcd.Stop("a-2")
	s.members = func(all []etcd.Member) { all[2].ClientURLs = nil }
	s.stale = []string{"Pod a-2"}
	if m := s.member("a-2"); !m.Pod.Exists() {
		t.Error("its pod is not asked for")
	}
}

// TestNotYetSetAside: a volume is discarded for its label, and not for a mark that is
// left on it.
func TestNotYetSetAside(t *testing.T) {
	s := newScene(t)
	setAside(s.claim("a-1"), now.Add(-9999*time.Hour))
	delete(s.claim("a-1").Labels, v1beta1.LabelQuarantined)
	if expired := s.look().Expired; len(expired) > 0 {
		t.Errorf("expired: %v", expired)
	}
}

// TestQuarantinedBehindAStaleCache: a volume that was set aside belongs to no member, also
// when the API server itself is asked for it.
func TestQuarantinedBehindAStaleCache(t *testing.T) {
	s := newScene(t)
	s.stale = []string{"PersistentVolumeClaim a-1"}
	s.drop("Pod a-1")
	s.etcd.Stop("a-1")
	setAside(s.claim("a-1"), now)
	if m := s.member("a-1"); m.Volume != cluster.NoVolume || !cluster.IsLost(m) {
		t.Errorf("saw %+v", m)
	}
}

// TestResizeOnlyWhereItWorks: an older Kubernetes takes a new Pod.
func TestResizeOnlyWhereItWorks(t *testing.T) {
	for can, want := range map[specs.Resizes]cluster.Change{specs.ResizesMost: cluster.Resize, specs.ResizesNothing: cluster.Rebuild} {
		s := newScene(t)
		s.c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		for _, name := range []string{"a-0", "a-1", "a-2"} {
			*s.pod(name) = *s.newPod(name)
		}
		s.c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		o := s.observer()
		o.Resizes = func() specs.Resizes { return can }
		v := s.lookBy(o)
		if m, _ := v.Member("a-1"); m.Pod.Change != want {
			t.Errorf("if it can %d: got %d, want %d", can, m.Pod.Change, want)
		}
	}
}
