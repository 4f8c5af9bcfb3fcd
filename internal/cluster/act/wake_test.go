// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act_test

import (
	"errors"
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/etcd/etcdtest"
)

// TestMembersAreWokenBesideAnyStep: the leader writes an entry if members may wait for one, also while
// there is no step to take. That it fails stops nothing.
func TestMembersAreWokenBesideAnyStep(t *testing.T) {
	for what, test := range map[string]struct{ silent, woken, asked bool }{
		"all answer":                 {false, false, false},
		"one does not":               {true, false, true},
		"it has just been given one": {true, true, false},
	} {
		s := newScene(t, example(), seen())
		m := &s.view.Members[2]
		m.Answers, m.ProposalSent, m.Pod.Address = !test.silent, test.woken, "10.0.0.2"
		s.etcd.FailBefore(etcdtest.WriteEntry, errors.New("it asked"))
		s.mustDo(plan.Done{})
		left := s.etcd.Client("a-0").WriteEntry(t.Context()) != nil // what was to fail has yet to
		if left == test.asked || s.dials.Load() > 1 {
			t.Errorf("%s: asked is %t, after %d dials", what, !left, s.dials.Load())
		}
	}
}
