// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestMembersPending: that no Pod finds a node is no loss of quorum. One that has a node, or is not looked at yet, may be one.
func TestMembersPending(t *testing.T) {
	unplaced := cluster.Pod{Phase: cluster.Unplaced, Trouble: "it cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu"}
	for what, test := range map[string]struct {
		last cluster.Pod
		want string
	}{
		"no node takes any":  {unplaced, v1beta1.ReasonMembersPending},
		"one ends":           {cluster.Pod{Phase: cluster.Placed, Trouble: "it keeps ending"}, v1beta1.ReasonQuorumLost},
		"one was just made":  {cluster.Pod{Phase: cluster.Unplaced}, v1beta1.ReasonQuorumLost},
		"one has no Pod yet": {cluster.Pod{}, v1beta1.ReasonQuorumLost},
	} {
		t.Run(what, func(t *testing.T) {
			v := cluster.View{
				Name: "a", Record: cluster.Record{ClusterID: "c1"}, Want: cluster.Want{Size: 3}, Unread: "no member runs",
				Members: []cluster.Member{
					{Name: "a-0", Role: cluster.Voter, Pod: unplaced},
					{Name: "a-1", Role: cluster.Voter, Pod: unplaced},
					{Name: "a-2", Role: cluster.Voter, Pod: test.last},
				},
			}
			status := report.Status(&v1beta1.EtcdCluster{}, v, plan.Wait{For: "etcd to answer: no member runs"}, nil)
			if is := meta.FindStatusCondition(status.Conditions, v1beta1.ConditionAvailable); is.Reason != test.want {
				t.Errorf("%s: %s", is.Reason, is.Message)
			}
		})
	}
}
