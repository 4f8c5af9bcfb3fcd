package cluster_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// TestOnlyNewMembersRunAnotherVersion: what a new member joins with is not for those
// that have been upgraded.
func TestOnlyNewMembersRunAnotherVersion(t *testing.T) {
	target := cluster.Target{Version: "3.7.3", Image: "x", Joining: "3.6.16"}
	joins := cluster.Target{Version: "3.6.16", Joining: "3.6.16", Cleanse: true}
	if got := target.For(cluster.Member{Name: "a-3"}); got != joins {
		t.Errorf("a new member: %+v, want %+v", got, joins)
	}
	if got := target.For(cluster.Member{Name: "a-0", Role: cluster.Voter}); got != target {
		t.Errorf("a voter: %+v, want %+v", got, target)
	}
	target.Joining = ""
	if got := target.For(cluster.Member{Name: "a-3"}); got != target {
		t.Errorf("when all can read the same: %+v, want %+v", got, target)
	}
}
