// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// addLearner adds a learner without starting it.
func (s *scene) addLearner(name string) {
	s.t.Helper()
	if _, err := s.etcd.Client("a-0").AddLearner(s.t.Context(), etcdtest.PeerURL(name)); err != nil {
		s.t.Fatal(err)
	}
}

// TestFault3LearnerWithoutANameIsFoundByItsURL: the operator died between adding a
// member and making its Pod.
func TestFault3LearnerWithoutANameIsFoundByItsURL(t *testing.T) {
	s := newScene(t)
	s.addLearner("a-3")
	if m := s.member("a-3"); m.Role != cluster.Learner || m.ID != 4 || m.Started || m.Recorded {
		t.Errorf("saw %+v", m)
	}
	s.etcd.Start("a-3")
	s.objects = append(s.objects, s.newPod("a-3"))
	if m := s.member("a-3"); m.Role != cluster.Learner || !m.Started || !m.Answers || !m.Healthy {
		t.Errorf("after its start saw %+v", m)
	}
	if v := s.look(); len(v.Unknown) > 0 {
		t.Errorf("unknown: %+v", v.Unknown)
	}
}

// TestUnknownMemberIsReported: a member that the operator has not added, running or not.
func TestUnknownMemberIsReported(t *testing.T) {
	for _, name := range []string{"b-0", "a-03", "a--1", "other"} {
		s := newScene(t)
		s.addLearner(name)
		want := cluster.UnknownMember{ID: 4, PeerURL: s.peerURL(etcdtest.PeerURL(name))}
		if v := s.look(); len(v.Unknown) != 1 || v.Unknown[0] != want || len(v.Members) != 3 {
			t.Errorf("unknown: %+v, want %+v", v.Unknown, want)
		}
		s.etcd.Start(name)
		s.etcd.Sync(name)
		if err := s.etcd.Client("a-0").Promote(t.Context(), 4); err != nil {
			t.Fatal(err)
		}
		want.Name, want.Voter = name, true
		if v := s.look(); len(v.Unknown) != 1 || v.Unknown[0] != want {
			t.Errorf("unknown: %+v, want %+v", v.Unknown, want)
		}
	}
}

// TestNameAtAnotherHostIsUnknown: neither a host that only begins with a name of ours,
// nor the name that a member gives itself, makes it ours.
func TestNameAtAnotherHostIsUnknown(t *testing.T) {
	for _, host := range []string{"a-3.b.default.svc", "a-3.a.other.svc", "a-3.example.com", "a-3.a.default.svcs", "10.0.0.3"} {
		s := newScene(t)
		s.addLearner("a-3")
		s.etcd.Start("a-3")
		s.members = func(all []etcd.Member) { all[3].PeerURLs = []string{"https://" + host + ":2380"} }
		v := s.look()
		if m, _ := v.Member("a-3"); m.Role != cluster.Unlisted || len(v.Unknown) != 1 {
			t.Errorf("%s: saw %+v, unknown: %+v", host, m, v.Unknown)
		}
	}
}

// TestPeerURLNamesTheMember: with the cluster's domain or without, whatever the member
// calls itself. One that is known already stays known by its ID and name.
func TestPeerURLNamesTheMember(t *testing.T) {
	s := newScene(t)
	s.members = func(all []etcd.Member) {
		all[0].PeerURLs = []string{"https://a-0.a.default.svc.cluster.local:2380"}
		all[1].Name = "a-2"
		all[2].PeerURLs = []string{"https://moved.example.com:2380"}
	}
	v := s.look()
	for i, name := range []string{"a-0", "a-1", "a-2"} {
		if m, _ := v.Member(name); m.ID != uint64(i+1) || m.Role != cluster.Voter {
			t.Errorf("saw %+v", m)
		}
	}
	if len(v.Unknown) > 0 {
		t.Errorf("unknown: %+v", v.Unknown)
	}
}

// TestEtcdsListReplacesTheRecord: one that was recorded as a voter and that etcd no
// longer lists is none.
func TestEtcdsListReplacesTheRecord(t *testing.T) {
	s := newScene(t)
	s.stop("a-2")
	if err := s.etcd.Client("a-0").Remove(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	v := s.look()
	if m, _ := v.Member("a-2"); m.Role != cluster.Unlisted || m.ID != 0 || !m.Pod.Exists() || m.Volume != cluster.Kept {
		t.Errorf("saw %+v", m)
	}
	if voters := strings.Join(cluster.Names(v.Select(cluster.IsVoter)), " "); voters != "a-0 a-1" {
		t.Errorf("voters are %s", voters)
	}
}

// TestLearnerIsInSyncAtNineTenths: as etcd counts it, against the leader's log.
func TestLearnerIsInSyncAtNineTenths(t *testing.T) {
	for applied, want := range map[uint64]bool{0: false, 899: false, 900: true, 1000: true, 1100: true} {
		s := newScene(t)
		s.addLearner("a-3")
		s.etcd.Start("a-3")
		s.objects = append(s.objects, s.newPod("a-3"))
		s.twist = func(name string, status *etcd.Status) {
			status.RaftAppliedIndex = 1000
			if name == "a-3" {
				status.RaftAppliedIndex = applied
			}
		}
		if m := s.member("a-3"); m.Synced != want {
			t.Errorf("%d of 1000 applied: in sync is %v", applied, m.Synced)
		}
		if reads := strings.Join(s.callsOf("Read"), " "); reads != "a-0 a-1 a-2" {
			t.Errorf("reads of %s: a learner does not serve them", reads)
		}
	}
}

// TestOneMemberDown: the others report all about it but its health.
func TestOneMemberDown(t *testing.T) {
	s := newScene(t)
	s.stop("a-0")
	v := s.look()
	down, _ := v.Member("a-0")
	if down.Answers || down.Healthy || down.Leader || down.Role != cluster.Voter || down.ID != 1 || !down.Started {
		t.Errorf("saw %+v", down)
	}
	if leader, _ := v.Leader(); leader.Name != "a-1" || v.Unread != "" || v.Count(cluster.IsHealthy) != 2 {
		t.Errorf("leader %s, unread %q, healthy %v", leader.Name, v.Unread, cluster.Names(v.Select(cluster.IsHealthy)))
	}
}

// TestDeadLeaderIsNotWaitedFor: until they elect another, followers name a leader
// that is dead. A linearizable read would wait for that; none is made.
func TestDeadLeaderIsNotWaitedFor(t *testing.T) {
	s := newScene(t)
	s.stop("a-0")
	s.twist = func(_ string, status *etcd.Status) { status.LeaderID = 1 }
	v := s.look()
	words := "the members have no leader (a-0: it refuses connections)"
	if v.Unread != words || v.Count(cluster.IsHealthy) > 0 || v.Count(cluster.IsVoter) != 3 {
		t.Errorf("saw %+v", v)
	}
	if reads := s.callsOf("Read"); len(reads) > 0 {
		t.Errorf("reads of %v", reads)
	}
}

// TestNewestTermNamesTheLeader: a member that was cut off still names the old one.
func TestNewestTermNamesTheLeader(t *testing.T) {
	for _, behind := range []string{"a-0", "a-2"} {
		s := newScene(t)
		s.twist = func(name string, status *etcd.Status) {
			status.LeaderID, status.RaftTerm = 2, 7
			if name == behind {
				status.LeaderID, status.RaftTerm = 1, 6
			}
		}
		if leader, _ := s.look().Leader(); leader.Name != "a-1" {
			t.Errorf("%s is behind: %q leads", behind, leader.Name)
		}
	}
}

// TestSplitBrainIsNotHealthy: a member that answers reads and follows another leader than the
// newest, or that one in an older term, is of another cluster of the same ID. No list is
// trusted, and nothing is done.
func TestSplitBrainIsNotHealthy(t *testing.T) {
	for what, other := range map[string]etcd.Status{
		"another leader":                    {LeaderID: 1, RaftTerm: 6},
		"another leader of the same number": {LeaderID: 1, RaftTerm: 7},
		"an older term":                     {LeaderID: 2, RaftTerm: 6},
	} {
		s := newScene(t)
		s.twist = func(name string, status *etcd.Status) {
			status.LeaderID, status.RaftTerm = 2, 7
			if name == "a-0" {
				status.LeaderID, status.RaftTerm = other.LeaderID, other.RaftTerm
			}
		}
		v := s.look()
		if healthy := strings.Join(cluster.Names(v.Select(cluster.IsHealthy)), " "); healthy != "a-1 a-2" || len(s.callsOf("Members")) > 0 {
			t.Errorf("%s: healthy are %s, lists of %v", what, healthy, s.callsOf("Members"))
		}
		if step, _ := plan.Next(v); !strings.Contains(step.String(), "refuse: members follow different leaders") || v.Unread == "" {
			t.Errorf("%s: %s", what, step)
		}
	}
}

// TestElectionIsNoSplit: a follower that did not know of the election does once it answers a
// read, and is asked again. One that knows of a newer one since is asked again.
func TestElectionIsNoSplit(t *testing.T) {
	for again, healthy := range map[uint64]int{7: 3, 8: 2} {
		s := newScene(t)
		var mutex sync.Mutex
		asked := 0
		s.twist = func(name string, status *etcd.Status) {
			mutex.Lock()
			defer mutex.Unlock()
			status.LeaderID, status.RaftTerm = 2, 7
			if name == "a-2" {
				status.LeaderID, status.RaftTerm = []uint64{1, 2}[asked], []uint64{6, again}[asked]
				asked++
			}
		}
		v := s.look()
		if n := v.Count(cluster.IsHealthy); n != healthy || v.Split != "" || v.Unread != "" {
			t.Errorf("then term %d: %d are healthy, split %q, unread %q", again, n, v.Split, v.Unread)
		}
	}
}

// TestQuorumLost: one of three reports what it remembers; nothing is confirmed.
func TestQuorumLost(t *testing.T) {
	s := newScene(t)
	s.stop("a-0", "a-2")
	v := s.look()
	words := "the members have no leader (a-0: it refuses connections; a-2: "
	if !strings.HasPrefix(v.Unread, words) || v.Count(cluster.IsVoter) != 3 || v.Count(cluster.IsHealthy) > 0 {
		t.Errorf("saw %+v", v)
	}
	if m, _ := v.Member("a-1"); !m.Answers || m.Complaint != "" {
		t.Errorf("that there is no leader is not said twice: %+v", m)
	}
}

// TestListIsTakenOnlyAfterALinearizableRead: from the one member whose read
// succeeded, and from none if none did.
func TestListIsTakenOnlyAfterALinearizableRead(t *testing.T) {
	s := newScene(t)
	s.etcd.FailBefore(etcdtest.Read, rpctypes.ErrTimeoutDueToLeaderFail)
	s.etcd.FailBefore(etcdtest.Read, rpctypes.ErrTimeoutDueToLeaderFail)
	v := s.look()
	healthy := cluster.Names(v.Select(cluster.IsHealthy))
	if asked := s.callsOf("Members"); len(healthy) != 1 || !slices.Equal(asked, healthy) || v.Unread != "" {
		t.Errorf("healthy %v, list of %v, unread %q", healthy, asked, v.Unread)
	}

	s = newScene(t)
	for range 2 * 3 { // slow members are asked twice
		s.etcd.FailBefore(etcdtest.Read, context.DeadlineExceeded)
	}
	v = s.look()
	healthy = cluster.Names(v.Select(cluster.IsHealthy))
	if len(healthy) > 0 || !strings.HasPrefix(v.Unread, "no member answers a linearizable read (a-0: it has taken the connection, and") {
		t.Errorf("healthy %v, unread %q", healthy, v.Unread)
	}

	s = newScene(t)
	s.etcd.FailBefore(etcdtest.Members, context.DeadlineExceeded)
	if v = s.look(); v.Unread == "" || v.Count(cluster.IsVoter) != 3 {
		t.Errorf("without a list: unread %q, %d voters of the record", v.Unread, v.Count(cluster.IsVoter))
	}
}

// TestAuthenticationEnabled: a member that answers its users only is not taken for one that
// cannot be reached.
func TestAuthenticationEnabled(t *testing.T) {
	s := newScene(t)
	for range 3 {
		s.etcd.FailBefore(etcdtest.Status, fmt.Errorf("get status: %w", rpctypes.ErrUserEmpty))
	}
	if v := s.look(); !v.Locked || v.Unread != "etcd answers its users only, because authentication is enabled" {
		t.Errorf("locked: %t, unread %q", v.Locked, v.Unread)
	}
	for range 3 { // older patches of 3.5 report their status without authentication
		s.etcd.FailBefore(etcdtest.Read, fmt.Errorf("read: %w", rpctypes.ErrUserEmpty))
	}
	if v := s.look(); !v.Locked || v.Unread != "etcd answers its users only, because authentication is enabled" {
		t.Errorf("status read: locked: %t, unread %q", v.Locked, v.Unread)
	}
	s.etcd.FailBefore(etcdtest.Status, fmt.Errorf("get status: %w", rpctypes.ErrUserEmpty))
	if v := s.look(); v.Locked {
		t.Errorf("one of three, and the others answer: unread %q", v.Unread)
	}
}

// TestRecordHasRolesWhenNoMemberAnswers: a member that was a voter is one until etcd
// reports otherwise.
func TestRecordHasRolesWhenNoMemberAnswers(t *testing.T) {
	s := newScene(t)
	s.stop("a-0", "a-1", "a-2")
	s.c.Status.Members = append(s.c.Status.Members,
		v1beta1.MemberStatus{Name: "a-3", ID: "1f", Role: v1beta1.RoleLearner}, v1beta1.MemberStatus{Name: "a-4", Role: v1beta1.RoleUnlisted})
	v := s.look()
	words := "no member answers (a-0: it refuses connections; "
	if !strings.HasPrefix(v.Unread, words) || v.Count(cluster.IsVoter, cluster.IsRecorded) != 3 || len(v.Members) != 4 {
		t.Errorf("saw %+v", v)
	}
	if m, _ := v.Member("a-3"); m.Role != cluster.Learner || m.ID != 0x1f || m.Started {
		t.Errorf("saw %+v", m)
	}
	if m, _ := v.Member("a-0"); m.ID != 1 || m.Leader || m.Version != "3.6.16" || !m.Started {
		t.Errorf("saw %+v", m)
	}
	s.drop("Pod a-0", "Pod a-1", "Pod a-2")
	if v = s.look(); v.Unread != "no member runs" || v.Count(cluster.IsVoter) != 3 {
		t.Errorf("without pods: unread %q, %d voters", v.Unread, v.Count(cluster.IsVoter))
	}
}

// TestFault20RestartedSurvivor: the last member with data has restarted. It finds no
// quorum, serves no client, and still reports what it has.
func TestFault20RestartedSurvivor(t *testing.T) {
	s := newScene(t)
	s.stop("a-0", "a-1", "a-2")
	s.drop("Pod a-1", "PersistentVolumeClaim a-1", "Pod a-2", "PersistentVolumeClaim a-2")
	s.remains = map[string]etcd.Remains{"10.0.0.0:2381": {Revision: 70, Index: 90}}
	step, because := plan.Next(s.look())
	if want := `set spec.recovery.acceptDataLoss to "a-0@70"`; !strings.Contains(step.String(), want) {
		t.Errorf("%s (%s), want %s", step, because, want)
	}
	if !s.member("a-0").Unsigned {
		t.Error("what it says on its metrics port passes for its word")
	}
}

// TestMembersAreAskedAtTheSameTime: one that is slow must not hold up the others. Here
// none answers before all have been asked.
func TestMembersAreAskedAtTheSameTime(t *testing.T) {
	s := newScene(t)
	s.meet = 3
	if healthy := s.look().Select(cluster.IsHealthy); len(healthy) != 3 {
		t.Errorf("%d are healthy", len(healthy))
	}
}

// TestOnlyRunningPodsAreAsked: not one that has no address, or does not run. One that
// is going is asked as long as it runs: it may lead.
func TestOnlyRunningPodsAreAsked(t *testing.T) {
	s := newScene(t)
	s.pod("a-0").Status.PodIP = ""
	s.pod("a-1").Status.ContainerStatuses = nil
	going := s.newPod("a-3")
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: now}, []string{"example.com/wait"}
	s.objects = append(s.objects, going)
	s.look()
	if asked := strings.Join(s.callsOf("Status"), " "); asked != "a-2 a-3" || strings.Join(s.kept, " ") != "a-2 a-3" {
		t.Errorf("asked %s, kept %v", asked, s.kept)
	}
}

// TestMemberThatCannotBeDialledDoesNotAnswer: no identity is no error either.
func TestMemberThatCannotBeDialledDoesNotAnswer(t *testing.T) {
	s := newScene(t)
	s.pod("a-1").Status.PodIP = "10.0.0.99"
	if v := s.look(); v.Count(cluster.IsHealthy) != 2 || v.Unread != "" {
		t.Errorf("saw %+v", v)
	}
}

// TestMembersTellAboutThemselves: version, size, alarms and the cluster they are in.
func TestMembersTellAboutThemselves(t *testing.T) {
	s := newScene(t)
	s.etcd.SetVersion("3.6.17")
	s.etcd.Raise(2, "NOSPACE")
	s.twist = func(name string, status *etcd.Status) {
		if name == "a-2" {
			status.DBSize = 12345
		}
	}
	m := s.member("a-2")
	if m.Version != "3.6.17" || m.DBSize != 12345 || m.ClusterID != "c1" || !strings.Contains(m.Complaint, "alarm:NOSPACE") {
		t.Errorf("saw %+v", m)
	}
}

// TestAlarmsAreInOneOrder: etcd keeps them in a map and reports them in any order; a message
// that differs from look to look would be written, and trigger a look, without end.
func TestAlarmsAreInOneOrder(t *testing.T) {
	s := newScene(t)
	alarms := []string{"memberID:2 alarm:NOSPACE", "memberID:3 alarm:NOSPACE", "memberID:1 alarm:CORRUPT"}
	s.twist = func(_ string, status *etcd.Status) { status.Errors = slices.Clone(alarms) }
	before := s.member("a-0").Complaint
	slices.Reverse(alarms)
	if after := s.member("a-0").Complaint; after != before || strings.Count(after, "alarm:") != 3 {
		t.Errorf("the same alarms were %q and then %q", before, after)
	}
}
