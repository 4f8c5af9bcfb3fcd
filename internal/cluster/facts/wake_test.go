// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"
)

// TestAMemberThatDoesNotAnswerIsWokenBy: a member that runs and does not answer may wait for an
// entry of the log, which the leader writes. Looking writes none.
func TestAMemberThatDoesNotAnswerIsWokenBy(t *testing.T) {
	for what, test := range map[string]struct {
		spoil  func(*scene)
		leader string
	}{
		"none, while all answer":           {func(*scene) {}, ""},
		"the leader, if it is listed":      {func(s *scene) { s.addLearner("a-3") }, "a-0"},
		"none, if etcd does not list it":   {func(*scene) {}, ""},
		"the leader, for a voter":          {func(s *scene) { s.etcd.Stop("a-1") }, "a-0"},
		"none, without a leader":           {func(s *scene) { s.etcd.Stop("a-1"); s.etcd.Stop("a-2") }, ""},
		"none, for one without an address": {func(s *scene) { s.etcd.Stop("a-1"); s.pod("a-1").Status.PodIP = "" }, ""},
	} {
		s := newScene(t)
		if !strings.Contains(what, "all answer") {
			s.objects = append(s.objects, s.newPod("a-3"))
		}
		test.spoil(s)
		leader, due := s.look().NeedsNoopProposal()
		if due != (test.leader != "") || due && leader.Name != test.leader {
			t.Errorf("%s: %s, %t", what, leader.Name, due)
		}
		if asked := s.callsOf("WriteEntry"); len(asked) > 0 {
			t.Errorf("%s: looking has asked %v", what, asked)
		}
	}
}
