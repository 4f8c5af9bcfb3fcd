// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// survivor is a cluster of three that lost all members but m1.
type survivor struct {
	*process.Cluster
	t       *testing.T
	version string
	m1      *process.Member
	before  etcd.Status // of m1, when there was a quorum
}

func forcedFlag(flags []string) []string { return append(slices.Clone(flags), "--force-new-cluster") }

// What etcd does with --force-new-cluster, on which recovery relies.
func TestFault20ForceNewCluster(t *testing.T) {
	ofVersions(t, process.Versions, func(t *testing.T, version string) {
		c := process.Run(t, version, 3)
		s := survivor{Cluster: c, t: t, version: version, m1: c.Member("m1")}
		s.losesQuorum()
		s.isForced()
		s.othersComeBack()
		s.startsWithoutTheFlag()
		s.isForcedAgain()
	})
}

// losesQuorum: Status reports what is committed. An entry that waits for
// a quorum counts neither here nor when the new cluster is forced.
func (s *survivor) losesQuorum() {
	s.Lead("m1")
	s.put("committed")
	s.before = s.Status("m1")
	s.Member("m2").Stop()
	s.Member("m3").Stop()
	ctx, cancel := context.WithTimeout(s.t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.m1.Put(ctx, "pending", "value"); err == nil {
		s.t.Fatal("wrote without a quorum")
	}
	eventually(s.t, "m1 to know that it has no quorum", func() error {
		status := s.Status("m1")
		if status.RaftIndex != s.before.RaftIndex || status.RaftAppliedIndex != s.before.RaftIndex || status.Revision != s.before.Revision {
			s.t.Fatalf("without a quorum it says %+v, before %+v", status, s.before)
		}
		if status.LeaderID != 0 {
			return context.DeadlineExceeded
		}
		return nil
	})

	// Once it is started again it does not serve clients before it has a leader.
	s.m1.Start(s.version, s.Joins("existing", "m1")...)
	ctx, cancel = context.WithTimeout(s.t.Context(), 2*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if status, err := s.Client("m1").Status(ctx); err == nil {
			s.t.Errorf("without a quorum it starts and says %+v", status)
		}
		time.Sleep(pause)
	}
}

func (s *survivor) isForced() {
	s.m1.Start(s.version, forcedFlag(s.Joins("existing", "m1"))...)
	s.Serves("m1")
	s.isAlone()
	if now := s.Status("m1"); now.Revision != s.before.Revision || now.RaftIndex <= s.before.RaftIndex {
		s.t.Errorf("forced, it says %+v, before %+v", now, s.before)
	}
	s.holds("committed", true)
	s.holds("pending", false)
	s.put("forced")
}

// othersComeBack: m1 informs them that they are removed, but while it is away
// they are a quorum of the old cluster, under the same ID.
func (s *survivor) othersComeBack() {
	old := s.Joins("existing", "m1", "m2", "m3")
	s.Member("m2").Start(s.version, old...)
	s.isTurnedAway("m2")

	s.m1.Stop()
	s.Member("m2").Start(s.version, old...)
	s.Member("m3").Start(s.version, old...)
	s.Serves("m2")
	members := must(s.Client("m2").Members(s.t.Context()))(s.t)
	if other := s.Status("m2"); other.ClusterID != s.before.ClusterID || len(members) != 3 {
		s.t.Errorf("the others alone are %+v of %+v", members, other)
	}

	s.m1.Start(s.version, s.Joins("existing", "m1")...)
	s.isTurnedAway("m2")
	s.isTurnedAway("m3")
}

func (s *survivor) startsWithoutTheFlag() {
	s.m1.Start(s.version, s.Joins("existing", "m1")...)
	s.Serves("m1")
	s.isAlone()
	s.holds("forced", true)
}

// isForcedAgain: the flag strips the members that joined since.
func (s *survivor) isForcedAgain() {
	m4 := s.Add("m4")
	learner := must(s.Client("m1").AddLearner(s.t.Context(), s.PeerURL("m4")))(s.t)
	m4.Start(s.version, s.Joins("existing", "m1", "m4")...)
	eventuallyReady(s.t, "m4 to be promoted", func() error { return s.Client("m1").Promote(s.t.Context(), learner.ID) })
	s.Serves("m4")

	s.m1.Start(s.version, forcedFlag(s.Joins("existing", "m1"))...)
	s.Serves("m1")
	s.isAlone()
	s.isTurnedAway("m4")
}

func (s *survivor) isAlone() {
	s.t.Helper()
	members := must(s.Client("m1").Members(s.t.Context()))(s.t)
	status := s.Status("m1")
	if len(members) != 1 || members[0].ID != s.before.MemberID || status.MemberID != s.before.MemberID ||
		status.ClusterID != s.before.ClusterID {
		s.t.Errorf("it is %+v of %+v, before %+v", members, status, s.before)
	}
}

func (s *survivor) isTurnedAway(name string) {
	s.t.Helper()
	m := s.Member(name)
	if exitCode := m.Ended(); !strings.Contains(m.Log(), "the member has been permanently removed from the cluster") {
		s.t.Errorf("%s ended with %d after\n%s", name, exitCode, m.Log())
	}
}

func (s *survivor) put(key string) {
	s.t.Helper()
	s.Until(key+" to be written", func(ctx context.Context) error { return s.m1.Put(ctx, key, "value") })
}

func (s *survivor) holds(key string, want bool) {
	s.t.Helper()
	if got := must(s.m1.Holds(s.t.Context(), key))(s.t); got != want {
		s.t.Errorf("holds %s: %t", key, got)
	}
}
