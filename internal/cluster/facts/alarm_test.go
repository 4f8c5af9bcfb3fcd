// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// TestFault27WhoIsOdd: hashes are read only while the alarm is raised, of every voter, and show
// whose data differs, whichever member the alarm is for. If one is not known, no member is odd.
func TestFault27WhoIsOdd(t *testing.T) {
	for what, test := range map[string]struct {
		spoil     func(*scene)
		odd       string
		undecided string
		step      string
	}{
		"no alarm":    {func(s *scene) { s.etcd.Corrupt("a-1") }, "", "", "done"},
		"no space":    {func(s *scene) { s.etcd.Raise(2, "NOSPACE"); s.etcd.Corrupt("a-1") }, "", "", "disarm NOSPACE"},
		"a follower":  {func(s *scene) { s.etcd.Raise(2, "CORRUPT"); s.etcd.Corrupt("a-1") }, "a-1", "", "detach a-1"},
		"the leader":  {func(s *scene) { s.etcd.Raise(2, "CORRUPT"); s.etcd.Corrupt("a-0") }, "a-0", "", "detach a-0"},
		"no member":   {func(s *scene) { s.etcd.Raise(2, "CORRUPT") }, "", "", "refuse: etcd refuses every write"},
		"one is gone": {func(s *scene) { s.etcd.Raise(9, "CORRUPT") }, "", "", "disarm CORRUPT of member 9"},
		"no majority": {func(s *scene) {
			s.etcd.Raise(2, "CORRUPT")
			s.etcd.Corrupt("a-0")
			s.etcd.Corrupt("a-1")
		}, "", "no majority", "refuse: etcd refuses every write"},
		"one is down": {func(s *scene) {
			s.etcd.Raise(2, "CORRUPT")
			s.etcd.Corrupt("a-1")
			s.stop("a-2")
		}, "", "a-2 has not reported the hash of its data: it does not answer", "refuse: etcd refuses every write"},
		"one does not answer": {func(s *scene) {
			s.etcd.Raise(2, "CORRUPT")
			s.etcd.Corrupt("a-1")
			s.etcd.FailBefore(etcdtest.HashKV, errors.New("compacted"))
		}, "", "compacted", "refuse: etcd refuses every write"},
		"one votes that is not ours": {func(s *scene) {
			s.addLearner("other")
			s.etcd.Start("other")
			s.etcd.Sync("other")
			if err := s.etcd.Client("a-0").Promote(t.Context(), 4); err != nil {
				t.Fatal(err)
			}
			s.etcd.Raise(2, "CORRUPT")
			s.etcd.Corrupt("a-1")
		}, "", "unknown voters are not asked", "apply PodDisruptionBudget"},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScene(t)
			test.spoil(s)
			v := s.look()
			odd := strings.Join(cluster.Names(v.Select(cluster.HasHashMismatch)), " ")
			step, _ := plan.Next(v)
			if odd != test.odd || !strings.Contains(v.Undecided, test.undecided) || (v.Undecided == "") != (test.undecided == "") ||
				!strings.HasPrefix(step.String(), test.step) {
				t.Errorf("odd %q, undecided %q, %s", odd, v.Undecided, step)
			}
		})
	}
}

// TestHashesAreAskedAtOneRevision: at the oldest that a voter reports, and of voters only.
func TestHashesAreAskedAtOneRevision(t *testing.T) {
	s := newScene(t)
	s.etcd.Raise(2, "CORRUPT")
	s.twist = func(name string, status *etcd.Status) {
		status.Revision = 5
		if name == "a-2" {
			status.Revision = 1 // the fake knows no newer one
		}
	}
	if v := s.look(); v.Undecided != "" {
		t.Error(v.Undecided)
	}
}

// TestAlarmsNameMembers: by etcd's list, each once, in one order. One may be for a member that
// is gone.
func TestAlarmsNameMembers(t *testing.T) {
	s := newScene(t)
	for _, id := range []uint64{9, 2, 0} {
		s.etcd.Raise(id, "NOSPACE")
	}
	want := []cluster.Alarm{{Kind: "NOSPACE"}, {Kind: "NOSPACE", ID: 2, Member: "a-1"}, {Kind: "NOSPACE", ID: 9}}
	if v := s.look(); !slices.Equal(v.Alarms, want) {
		t.Errorf("got %+v", v.Alarms)
	}
}
