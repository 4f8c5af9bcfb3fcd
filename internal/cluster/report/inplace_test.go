// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// giving is a cluster whose members were replaced by a-3, and what is seen of it.
func giving(undo bool) (*v1beta1.EtcdCluster, cluster.View) {
	c := formed()
	c.Status.Revision, c.Status.Joining, c.Status.LegacyEntries = 1000, "a-9", true
	c.Status.Restore = &v1beta1.RestoreStatus{
		Request: "er", RequestUID: "er-1", Members: []string{"a-3"}, RestoredAt: &metav1.Time{}, Undo: undo,
	}
	v := with(func(v *cluster.View) {
		down(v, first...)
		v.Record.Joining, v.Record.Revision, v.Unread = "a-9", 1000, "no member answers"
		v.Restore = cluster.Restore{InPlace: c.Status.Restore.ID(), Undo: undo, Done: true}
		for i := range v.Members {
			v.Members[i].Pod, v.Members[i].Volume = cluster.Pod{}, cluster.NoVolume
		}
		v.Members = append(v.Members, cluster.Member{Name: "a-3", Chosen: true, Volume: cluster.Kept})
		v.Unknown = []cluster.UnknownMember{{ID: 9, Voter: true}}
	})
	return c, v
}

// TestMembersGiveWay: nothing of the old members stays in the record, by which they would count as lost voters of the new cluster.
func TestMembersGiveWay(t *testing.T) {
	for _, undo := range []bool{false, true} {
		c, v := giving(undo)
		if waits := report.Status(c, v, plan.Wait{For: "pod a-0 to be gone"}, nil); waits.Format != v1beta1.FormatRestoring {
			t.Errorf("an operator that knows no restores would start the old members: format %d", waits.Format)
		}
		replays := c.DeepCopy()
		replays.Status.Restore.Log = &v1beta1.RestoreLog{Lineage: "c1-0"}
		if waits := report.Status(replays, v, plan.Wait{For: "pod a-0 to be gone"}, nil); waits.Format != v1beta1.FormatReplaying {
			t.Errorf("an operator that knows no log would restore the backup alone: format %d", waits.Format)
		}
		step, because := plan.Next(v)
		after := report.Status(c, v, step, nil)
		if because != "restore in place" || after.Bootstrap == nil || !slices.Equal(after.Bootstrap.Members, []string{"a-3"}) {
			t.Fatalf("%s (%s): %+v", step, because, after.Bootstrap)
		}
		if after.Bootstrap.Restore != c.Status.Restore.ID() || !after.Bootstrap.Adopted || after.Format != v1beta1.FormatPlain {
			t.Errorf("%+v, format %d", after.Bootstrap, after.Format)
		}
		left := len(after.Members) + len(after.UnknownMembers) + int(after.Replicas) + int(after.ReadyMembers)
		if left > 0 || after.ClusterID != "" || after.Joining != "" || after.Revision != 0 || after.QuorumLoss != nil {
			t.Errorf("something of the old members is left: %+v", after)
		}
		if after.LegacyEntries != undo {
			t.Errorf("undone %t: members have old logs: %t", undo, after.LegacyEntries)
		}
		c.Status = after
		if c.IsRestoring() {
			t.Error("the members are replaced once more")
		}
	}
}

// TestGivingWayIsNoFault: people read what is going on, and not that members are down.
func TestGivingWayIsNoFault(t *testing.T) {
	c, v := giving(false)
	for _, problem := range []string{"", "create the store again"} {
		var step plan.Step = plan.Wait{For: "pod a-0 to be gone"}
		if problem != "" {
			step = plan.Refuse{Because: problem}
		}
		all := report.Status(c, v, step, nil).Conditions
		available := meta.FindStatusCondition(all, v1beta1.ConditionAvailable)
		degraded := meta.FindStatusCondition(all, v1beta1.ConditionDegraded)
		if available.Reason != v1beta1.ReasonRestoring || !strings.Contains(available.Message, "are being replaced") {
			t.Errorf("%+v", available)
		}
		if (degraded.Status == metav1.ConditionTrue) != (problem != "") || !strings.Contains(degraded.Message, problem) {
			t.Errorf("%+v", degraded)
		}
	}
	v.Restore.Failure = "the data of a-3 cannot be restored: connection refused"
	degraded := meta.FindStatusCondition(report.Status(c, v, plan.Wait{For: "it"}, nil).Conditions, v1beta1.ConditionDegraded)
	if degraded.Reason != v1beta1.ReasonRestoreFailing {
		t.Errorf("%+v", degraded)
	}
}

// TestFault103FillingThatFailsIsInDegraded: while volumes are filled beside members that serve nothing is refused, and the cluster must
// not say that nothing is wrong.
func TestFault103FillingThatFailsIsInDegraded(t *testing.T) {
	gone, refused := "the data of a-3 cannot be restored: a part is not in the store", "connection refused"
	for name, test := range map[string]struct {
		restore cluster.Restore
		message string
	}{
		"goes on":                {cluster.Restore{Filling: true, Progress: "the data of a-3"}, ""},
		"fails for good":         {cluster.Restore{Filling: true, Problem: gone}, gone},
		"fails for now":          {cluster.Restore{Filling: true, Failure: refused}, refused},
		"of an earlier restore":  {cluster.Restore{Problem: gone}, ""},
		"of one that is undone":  {cluster.Restore{Failure: refused}, ""},
		"fails in both meanings": {cluster.Restore{Filling: true, Problem: gone, Failure: refused}, gone},
	} {
		v := healthy()
		v.Restore = test.restore
		degraded := meta.FindStatusCondition(report.Status(formed(), v, plan.Done{}, nil).Conditions, v1beta1.ConditionDegraded)
		isReported := degraded.Reason == v1beta1.ReasonRestoreFailing && degraded.Message == test.message
		if (degraded.Status == metav1.ConditionTrue && isReported) != (test.message != "") {
			t.Errorf("%s: %+v", name, degraded)
		}
	}
}
