// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestRollBackKeepsTheChoice: an image that the user had chosen is wanted again. One that
// operators chose is not, because others may run the same version by another image, and
// would be exchanged for it although they are well.
func TestRollBackKeepsTheChoice(t *testing.T) {
	for usual, want := range map[bool]string{true: "", false: "before"} {
		v := cluster.View{
			Name: "a", Want: cluster.Want{Size: 3, Version: "3.7.3", RollBack: true}, Target: cluster.Target{Version: "3.7.3"},
			Record: cluster.Record{Token: "u1", First: []string{"a-0", "a-1", "a-2"}, ClusterID: clusterID, NextSerial: 3},
		}
		for i := range 3 {
			v.Members = append(v.Members, cluster.Member{
				Name: cluster.MemberName("a", i), Recorded: true, Volume: cluster.Kept, ID: uint64(i + 1), Role: cluster.Voter, Started: true,
				Leader: i == 0, Answers: true, Healthy: true, ClusterID: clusterID, Version: "3.6.16",
				Pod: cluster.Pod{Phase: cluster.Running, Ready: true, Change: cluster.Swap, Image: "before", DefaultImage: usual},
			})
		}
		failed := &v.Members[1]
		failed.Healthy, failed.Answers = false, false
		failed.Pod = cluster.Pod{Phase: cluster.Placed, Failing: true, Image: "after", DefaultImage: true}
		step, because := plan.Next(v)
		record, _ := step.(plan.Record)
		if back := record.Fact.RolledBack; back.Version != "3.6.16" || back.Image != want {
			t.Errorf("the operator's choice %t: got %#v (%s), want image %q", usual, step, because, want)
		}
	}
}
