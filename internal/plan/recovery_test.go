package plan_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/plan"
)

// TestNoProposalOfDataThatGoesWithItsPod: a person is not asked to accept a loss that
// would be the loss of all.
func TestNoProposalOfDataThatGoesWithItsPod(t *testing.T) {
	survivor := cluster.Member{Name: "a-0", Role: cluster.Voter, Volume: cluster.Kept, Revision: 7, Index: 9, Pod: cluster.Pod{Exists: true}}
	if loss, known := (plan.QuorumLoss{Survivors: []cluster.Member{survivor}}).Proposal(); !known || loss.String() != "a-0@7" {
		t.Errorf("the volume is kept: proposed %t %s", known, loss)
	}
	survivor.Volume = cluster.Going
	if loss, known := (plan.QuorumLoss{Survivors: []cluster.Member{survivor}}).Proposal(); known {
		t.Errorf("the volume is being deleted: proposed %s", loss)
	}
}
