// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// records adds a member to the status.
func (s *scene) records(name, id, role string) {
	s.c.Status.Members = append(s.c.Status.Members, v1beta1.MemberStatus{Name: name, ID: id, Role: role, Version: "3.6.16"})
}

// TestOldMemoryDemotesNoMember: a-3 was promoted while a-0 was down. When all others are
// gone and a-3 is silent, its data is waited for: a-0 remembers it as a learner.
func TestOldMemoryDemotesNoMember(t *testing.T) {
	for what, remembered := range map[string]func([]etcd.Member){
		"as a learner": func(all []etcd.Member) { all[3].Learner = true },
		"not at all":   func(all []etcd.Member) { all[3] = all[2] },
	} {
		s := newScene(t)
		s.addLearner("a-3")
		s.drop("PodDisruptionBudget a")
		s.objects = append(s.objects, s.newPod("a-3"), specs.Budget(s.c, 3))
		s.records("a-3", "4", v1beta1.RoleVoter)
		s.c.Spec.Recovery.QuorumLoss = v1beta1.Automatic
		s.stop("a-1", "a-2")
		s.drop("Pod a-1", "PersistentVolumeClaim a-1", "Pod a-2", "PersistentVolumeClaim a-2")
		s.members = remembered
		v := s.look()
		if m, _ := v.Member("a-3"); m.Role != cluster.Voter || !m.Started || m.ID != 4 {
			t.Errorf("%s: saw %+v", what, m)
		}
		if step, because := plan.Next(v); !plan.Rests(step) {
			t.Errorf("%s: %s (%s)", what, step, because)
		}
	}
}

// TestMemoryAddsToTheRecord: a member that is a learner in the record may be a voter since.
func TestMemoryAddsToTheRecord(t *testing.T) {
	s := newScene(t)
	s.c.Status.Members[2].Role, s.c.Status.Members[2].ID = v1beta1.RoleLearner, ""
	s.stop("a-1", "a-2")
	if m := s.member("a-2"); m.Role != cluster.Voter || m.ID != 3 || !m.Started {
		t.Errorf("recorded as a learner: saw %+v", m)
	}
	s.c.Status.Members = s.c.Status.Members[:2]
	if m := s.member("a-2"); m.Role != cluster.Voter {
		t.Errorf("not recorded: saw %+v", m)
	}
}

// TestOldMemoryRevivesNoMember: a member of which nothing is left was removed while the one
// that remembers it was down. It does not count as a voter that is lost.
func TestOldMemoryRevivesNoMember(t *testing.T) {
	s := newScene(t)
	s.addLearner("a-3")
	s.stop("a-1", "a-2")
	if m, found := s.look().Member("a-3"); found && cluster.IsListed(m) {
		t.Errorf("saw %+v", m)
	}
}

// TestMemoryIsAllThereIs: no member is recorded as a voter, so the member list must be taken
// from what one member remembers.
func TestMemoryIsAllThereIs(t *testing.T) {
	s := newScene(t)
	s.c.Status.Members = nil
	s.stop("a-1", "a-2")
	s.drop("Pod a-2", "PersistentVolumeClaim a-2")
	if voters := s.look().Select(cluster.IsVoter); len(voters) != 3 {
		t.Errorf("voters: %v", cluster.Names(voters))
	}
}

// addUnknownVoter adds a voter that the operator has not added.
func (s *scene) addUnknownVoter(name string) {
	s.t.Helper()
	s.addLearner(name)
	s.etcd.Start(name)
	s.etcd.Sync(name)
	if err := s.etcd.Client("a-0").Promote(s.t.Context(), 4); err != nil {
		s.t.Fatal(err)
	}
}

// TestUnknownMemberLeads: it is never asked, but reads show that there is a leader.
func TestUnknownMemberLeads(t *testing.T) {
	s := newScene(t)
	s.addUnknownVoter("other")
	if err := s.etcd.Client("a-0").MoveLeader(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	v := s.look()
	if v.Unread != "" || v.Count(cluster.IsHealthy) != 3 || v.UnknownVoters() != 1 {
		t.Errorf("unread %q, healthy %v, unknown %+v", v.Unread, cluster.Names(v.Select(cluster.IsHealthy)), v.Unknown)
	}
	if leader, led := v.Leader(); led {
		t.Errorf("%s leads", leader.Name)
	}
	for range 2 * 3 { // slow members are asked twice
		s.etcd.FailBefore(etcdtest.Read, context.DeadlineExceeded)
	}
	if v = s.look(); v.Unread == "" || v.Count(cluster.IsHealthy) > 0 || v.UnknownVoters() != 1 {
		t.Errorf("no read succeeds: unread %q, unknown %+v", v.Unread, v.Unknown)
	}
}

// TestLearnerBesideAnUnknownLeader: no member reports how far the log of the leader is.
func TestLearnerBesideAnUnknownLeader(t *testing.T) {
	s := newScene(t)
	s.addUnknownVoter("other")
	if err := s.etcd.Client("a-0").MoveLeader(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	s.addLearner("a-3")
	s.etcd.Start("a-3")
	s.objects = append(s.objects, s.newPod("a-3"))
	if m := s.member("a-3"); m.Synced {
		t.Errorf("saw %+v", m)
	}
}

// TestUnknownMembersAreKnownWithoutALeader: they may be a quorum with the only survivor.
func TestUnknownMembersAreKnownWithoutALeader(t *testing.T) {
	s := newScene(t)
	s.addUnknownVoter("other")
	s.allStay()
	s.stop("a-1", "a-2")
	s.etcd.Stop("other")
	s.drop("Pod a-1", "PersistentVolumeClaim a-1", "Pod a-2", "PersistentVolumeClaim a-2")
	s.c.Spec.Recovery.QuorumLoss = v1beta1.Automatic
	v := s.look()
	if step, because := plan.Next(v); v.UnknownVoters() != 1 || !strings.Contains(step.String(), "unknown voters") {
		t.Errorf("unknown %+v: %s (%s)", v.Unknown, step, because)
	}
}
