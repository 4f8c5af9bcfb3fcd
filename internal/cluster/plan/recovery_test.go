// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

var placed = cluster.Pod{Phase: cluster.Placed}

// TestNoProposalOfDataThatGoesWithItsPod: a person is not asked to accept a loss that
// would be the loss of all.
func TestNoProposalOfDataThatGoesWithItsPod(t *testing.T) {
	survivor := cluster.Member{Name: "a-0", Role: cluster.Voter, Volume: cluster.Kept, Revision: 7, Index: 9, Pod: placed}
	if loss, known := (plan.QuorumLoss{Survivors: []cluster.Member{survivor}}).Proposal(); !known || loss.String() != "a-0@7" {
		t.Errorf("the volume is kept: proposed %t %s", known, loss)
	}
	survivor.Volume = cluster.Going
	if loss, known := (plan.QuorumLoss{Survivors: []cluster.Member{survivor}}).Proposal(); known {
		t.Errorf("the volume is being deleted: proposed %s", loss)
	}
}

// TestBestIsWhoKnowsMost: the revision decides only between equals, in whatever order they
// are looked at.
func TestBestIsWhoKnowsMost(t *testing.T) {
	for _, c := range []struct {
		index    [2]uint64
		revision [2]int64
		want     string
	}{
		{[2]uint64{9, 8}, [2]int64{1, 2}, "a-0@1"},
		{[2]uint64{8, 9}, [2]int64{2, 1}, "a-1@1"},
		{[2]uint64{9, 9}, [2]int64{2, 1}, "a-0@2"},
		{[2]uint64{9, 9}, [2]int64{1, 2}, "a-1@2"},
	} {
		var loss plan.QuorumLoss
		for i, name := range []string{"a-0", "a-1"} {
			loss.Survivors = append(loss.Survivors, cluster.Member{
				Name: name, Role: cluster.Voter, Volume: cluster.Kept, Revision: c.revision[i], Index: c.index[i], Pod: placed,
			})
		}
		if got, known := loss.Proposal(); !known || got.String() != c.want {
			t.Errorf("%+v: %t %s", c, known, got)
		}
	}
}

// TestForcedPodIsLookedAtSoonOnlyWhileItStarts: one that finds no node may need hours.
func TestForcedPodIsLookedAtSoonOnlyWhileItStarts(t *testing.T) {
	for fresh, want := range map[bool]plan.Requeue{true: plan.Soon, false: plan.Later} {
		step, because := plan.Next(cluster.View{
			Name: "a", Fresh: fresh, Want: cluster.Want{Size: 3}, Unread: "no member runs",
			Record: cluster.Record{Token: "u1", ClusterID: clusterID, Recovering: "a-0"},
			Members: []cluster.Member{{
				Name: "a-0", Role: cluster.Voter, Started: true, Volume: cluster.Kept, Pod: cluster.Pod{Phase: cluster.Placed, Forced: true},
			}},
		})
		if wait, waits := step.(plan.Wait); !waits || wait.Look != want {
			t.Errorf("fresh %t: %#v (%s)", fresh, step, because)
		}
	}
}
