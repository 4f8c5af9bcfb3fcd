// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// allStay lets no Pod be evicted.
func (s *scene) allStay() {
	s.find("PodDisruptionBudget a").(*policyv1.PodDisruptionBudget).Spec = specs.Budget(s.c, 3).Spec
}

// recordUnknown records unknown voters, as the status has them.
func (s *scene) recordUnknown(ids ...string) {
	if len(ids) > 0 {
		s.allStay()
	}
	for _, id := range ids {
		s.c.Status.UnknownMembers = append(s.c.Status.UnknownMembers, v1beta1.UnknownMember{
			ID: id, Name: "b-" + id, PeerURLs: []string{"https://b-" + id + ":2380", "https://b:2380"}, Role: v1beta1.RoleVoter,
		})
	}
}

// TestUnknownMembersAreRemembered: two of three lose their volumes, and the third serves no client
// alone. Voters that the operator has not added may go on without them, so nothing is formed
// again: not while they are a quorum, and else only if a person wants it.
func TestUnknownMembersAreRemembered(t *testing.T) {
	for want, ids := range map[string][]string{
		"recover quorum from a-0":                           nil,
		"to go on from it set spec.recovery.acceptDataLoss": {"a"},
		"unknown voters count for its quorum: 3":            {"a", "b", "c"},
	} {
		s := newScene(t)
		s.recordUnknown(ids...)
		s.c.Spec.Recovery.QuorumLoss = v1beta1.Automatic
		s.stop("a-0", "a-1", "a-2")
		s.drop("Pod a-1", "PersistentVolumeClaim a-1", "Pod a-2", "PersistentVolumeClaim a-2")
		s.remains = map[string]etcd.Remains{"10.0.0.0:2381": {Revision: 5, Index: 9}}
		v := s.look()
		if step, because := plan.Next(v); v.UnknownVoters() != len(ids) || !strings.Contains(step.String(), want) {
			t.Errorf("unknown %+v: %s (%s)", v.Unknown, step, because)
		}
	}
}

// TestUnknownMembersAreRememberedWithoutAPod: no member is asked at all. One that was recorded by a name
// of this namespace is of no other.
func TestUnknownMembersAreRememberedWithoutAPod(t *testing.T) {
	s := newScene(t)
	s.recordUnknown("c0ffee", "d0")
	s.c.Status.UnknownMembers[1].PeerURLs = []string{"https://a-7.a.default.svc:2380"}
	s.drop("Pod a-0", "Pod a-1", "Pod a-2")
	want := []cluster.UnknownMember{
		{ID: 0xc0ffee, Name: "b-c0ffee", PeerURL: "https://b-c0ffee:2380,https://b:2380", Voter: true},
		{ID: 0xd0, Name: "b-d0", PeerURL: "https://a-7.a.default.svc:2380", Voter: true},
	}
	if v := s.look(); !slices.Equal(v.Unknown, want) {
		t.Errorf("unknown: %+v", v.Unknown)
	}
}

// TestUnknownMembersAreKnownWithoutARead: what a member remembers counts, too.
func TestUnknownMembersAreKnownWithoutARead(t *testing.T) {
	s := newScene(t)
	s.addUnknownVoter("other")
	for range 2 * 3 { // slow members are asked twice
		s.etcd.FailBefore(etcdtest.Read, context.DeadlineExceeded)
	}
	if v := s.look(); v.Unread == "" || v.UnknownVoters() != 1 {
		t.Errorf("unread %q, unknown %+v", v.Unread, v.Unknown)
	}
}

// TestConfirmedListForgetsUnknownMembers: that one is the truth.
func TestConfirmedListForgetsUnknownMembers(t *testing.T) {
	s := newScene(t)
	s.recordUnknown("a")
	if v := s.look(); v.Unread != "" || len(v.Unknown) > 0 {
		t.Errorf("unread %q, unknown: %+v", v.Unread, v.Unknown)
	}
}

// TestOldMemoryForgetsNoUnknownMember: what one member remembers may be older than the record, or
// newer. A learner of one of them may be a voter since.
func TestOldMemoryForgetsNoUnknownMember(t *testing.T) {
	s := newScene(t)
	s.addUnknownVoter("other")
	s.recordUnknown("a", "4")
	s.c.Status.UnknownMembers[1].Role = v1beta1.RoleLearner
	s.stop("a-1", "a-2")
	s.etcd.Stop("other")
	ids := func(v cluster.View) (ids []uint64) {
		for _, unknown := range v.Unknown {
			ids = append(ids, unknown.ID)
		}
		return ids
	}
	if v := s.look(); v.Unread == "" || !slices.Equal(ids(v), []uint64{4, 0xa}) || v.UnknownVoters() != 2 {
		t.Errorf("the record has a learner: unread %q, unknown %+v", v.Unread, v.Unknown)
	}
	s.c.Status.UnknownMembers[1].Role = v1beta1.RoleVoter
	s.members = func(all []etcd.Member) { all[3].Learner = true }
	if v := s.look(); !slices.Equal(ids(v), []uint64{4, 0xa}) || v.UnknownVoters() != 2 {
		t.Errorf("the record has a voter: unknown %+v", v.Unknown)
	}
}

// TestDataOfAnotherNamespace: data was brought here from a cluster of this name in another
// namespace, by which etcd still names its members. They are the cluster's own, and none is
// to be removed.
func TestDataOfAnotherNamespace(t *testing.T) {
	for host, home := range map[string]string{
		"a-0.a.old.svc": "old", "a-0.a.old.svc.cluster.local": "old", "a-0.a.default.svc.example": "",
		"b-0.b.old.svc": "", "a-x.a.old.svc": "", "a-0.b.old.svc": "", "a-0.a.old.pod": "", "a-0": "", "10.0.0.1": "",
	} {
		s := newScene(t)
		s.c.Status.ClusterID, s.c.Status.Members = "", nil
		s.c.Status.Bootstrap.Adopted = true
		s.members = func(members []etcd.Member) {
			for i := range members {
				members[i].PeerURLs = []string{"https://" + strings.Replace(host, "-0", "-"+strconv.Itoa(i), 1) + ":2380"}
			}
		}
		s.find("PodDisruptionBudget a").(*policyv1.PodDisruptionBudget).Spec = specs.Budget(s.c, s.look().MustStay()).Spec
		step, because := plan.Next(s.look())
		if has := strings.Contains(step.String(), "its data is of a cluster in namespace old"); has != (home != "") {
			t.Errorf("%s: %s (%s)", host, step, because)
		}
		if home != "" && strings.Contains(step.String(), "member remove") {
			t.Errorf("%s: %s", host, step)
		}
	}
}
