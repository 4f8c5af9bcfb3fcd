// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// TestForeignDataIsNotBelieved: a member that runs on data of another cluster leads that
// one, in a newer term and with a longer list. Neither counts for ours.
func TestForeignDataIsNotBelieved(t *testing.T) {
	s := newScene(t)
	s.twist = func(name string, status *etcd.Status) {
		if name == "a-2" {
			status.ClusterID, status.MemberID, status.LeaderID = 0xdead, 0xf, 0xf
			status.RaftTerm, status.RaftAppliedIndex = 1000, 1<<20
		}
	}
	v := s.look()
	m, _ := v.Member("a-2")
	if m.Foreign != "its data is of cluster dead, not of c1" || m.ClusterID != "dead" || m.Answers || m.Healthy || m.Revision > 0 {
		t.Errorf("saw %+v", m)
	}
	if leader, _ := v.Leader(); leader.Name != "a-0" || v.Unread != "" || v.Count(cluster.IsHealthy) != 2 {
		t.Errorf("leader %s, unread %q, healthy %v", leader.Name, v.Unread, cluster.Names(v.Select(cluster.IsHealthy)))
	}
	if asked := strings.Join(append(s.callsOf("Members"), s.callsOf("Read")...), " "); strings.Contains(asked, "a-2") {
		t.Errorf("asked %s", asked)
	}
	if step, because := plan.Next(v); step.String() != "detach a-2 from the client service" {
		t.Errorf("%s (%s)", step, because)
	}
}

// TestDataOfAnotherMemberIsForeign: it speaks as that member, and the record, then
// etcd's list, says that it is none. Without either nothing is proven.
func TestDataOfAnotherMemberIsForeign(t *testing.T) {
	as := func(id uint64) func(string, *etcd.Status) {
		return func(name string, status *etcd.Status) {
			if name == "a-2" {
				status.MemberID = id
			}
		}
	}
	for _, recorded := range []bool{true, false} {
		s := newScene(t)
		s.twist = as(2)
		if !recorded {
			s.c.Status.Members = nil
		}
		m := s.member("a-2")
		if m.Foreign != "its data is of member 2, not of 3, as which etcd lists it" || m.Answers || m.Healthy || m.Leader {
			t.Errorf("recorded %v: saw %+v", recorded, m)
		}
	}
	s := newScene(t)
	s.c.Status.Members[2].ID = "7" // it was removed and added again since
	if m := s.member("a-2"); m.Foreign != "" {
		t.Errorf("saw %+v", m)
	}
}

// TestBeforeTheClusterIsKnownNoMemberIsForeign: what the members report is then all there is.
func TestBeforeTheClusterIsKnownNoMemberIsForeign(t *testing.T) {
	s := newScene(t)
	s.c.Status.ClusterID, s.c.Status.Members = "", nil
	s.twist = func(name string, status *etcd.Status) {
		if name == "a-2" {
			status.ClusterID = 0xdead
		}
	}
	v := s.look()
	if m, _ := v.Member("a-2"); m.ClusterID != "dead" || v.Count(cluster.IsForeign) > 0 {
		t.Errorf("saw %+v", v)
	}
	if step, because := plan.Next(v); step.String() != "detach a-0 from the client service" {
		t.Errorf("%s (%s)", step, because)
	}
}

// TestForeignDataOfAPodThatIsGone: the cache still showed it.
func TestForeignDataOfAPodThatIsGone(t *testing.T) {
	s := newScene(t)
	s.twist = func(name string, status *etcd.Status) {
		if name == "a-2" {
			status.ClusterID = 0xdead
		}
	}
	s.vanish = []string{"Pod a-2"}
	if m := s.member("a-2"); m.Foreign != "" || m.Pod.Exists() {
		t.Errorf("saw %+v", m)
	}
}
