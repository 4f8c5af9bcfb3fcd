// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestMembersAreWokenTwiceASecond: as long as one does not answer, and at once when another one
// begins to be silent after all had answered.
func TestMembersAreWokenTwiceASecond(t *testing.T) {
	var m Cluster
	start := time.Unix(0, 0).Add(time.Hour)
	for _, look := range []struct {
		at     time.Duration
		silent bool
		wakes  bool
	}{
		{0, true, true},
		{wakePause - 1, true, false},
		{wakePause, true, true},
		{wakePause + 1, false, false},
		{wakePause + 2, true, true},
		{wakePause + 3, true, false},
	} {
		v := led("a-0")
		v.Members[0].Answers, v.Members[1].Answers = true, !look.silent
		v.Members[1].Pod = cluster.Pod{Phase: cluster.Running, Address: "10.0.0.1"}
		now := start.Add(look.at)
		m.Mark(v, now)
		if _, due := v.NeedsNoopProposal(); due != look.wakes {
			t.Errorf("after %s: due is %t", look.at, due)
		}
		m.Note(v, plan.Done{}, Ending{}, now)
	}
}
