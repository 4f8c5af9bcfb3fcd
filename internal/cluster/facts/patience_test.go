// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"context"
	"errors"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/facts"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// TestSlowMembersAreAskedAgain: members that have taken the connection and did not answer in time may be on a busy machine. Whether quorum
// is lost is asked once more, with more patience; not where members are gone, because then no patience helps.
func TestSlowMembersAreAskedAgain(t *testing.T) {
	var (
		serves = facts.Answer{WasRead: true}
		slow   = facts.Answer{Err: context.DeadlineExceeded}
		reads  = facts.Answer{WasRead: true, Read: context.DeadlineExceeded}
		gone   = facts.Answer{Err: errors.New("connection refused")}
	)
	for name, test := range map[string]struct {
		answers []facts.Answer
		members int // as the status has them
		want    bool
	}{
		"all serve":                                 {[]facts.Answer{serves, serves, serves}, 3, false},
		"one of three is slow":                      {[]facts.Answer{serves, serves, slow}, 3, false},
		"one of three is gone":                      {[]facts.Answer{serves, serves, gone}, 3, false},
		"two of three are slow":                     {[]facts.Answer{serves, slow, slow}, 3, true},
		"one is gone, and another slow":             {[]facts.Answer{serves, slow, gone}, 3, true},
		"all take their time for a read":            {[]facts.Answer{reads, reads, reads}, 3, true},
		"two of three are gone":                     {[]facts.Answer{reads, gone, gone}, 3, false},
		"two of three have no Pod":                  {[]facts.Answer{reads}, 3, false},
		"the only member is slow":                   {[]facts.Answer{slow}, 1, true},
		"none is asked":                             {nil, 0, false},
		"the members of a new cluster are all slow": {[]facts.Answer{slow, slow, slow}, 0, true},
	} {
		s := facts.Snapshot{Cluster: &v1beta1.EtcdCluster{Status: v1beta1.EtcdClusterStatus{Members: make([]v1beta1.MemberStatus, test.members)}}}
		for _, a := range test.answers {
			s.Answers = append(s.Answers, &a)
		}
		if got := facts.AreSlow(s); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAnswersThatComeLateAreWaitedFor: what was slow at first serves when it is asked again.
func TestAnswersThatComeLateAreWaitedFor(t *testing.T) {
	s := newScene(t)
	for range 3 {
		s.etcd.FailBefore(etcdtest.Read, context.DeadlineExceeded)
	}
	if v := s.look(); v.Unread != "" || v.Count(cluster.IsHealthy) != 3 {
		t.Errorf("unread %q, healthy %v", v.Unread, cluster.Names(v.Select(cluster.IsHealthy)))
	}
}
