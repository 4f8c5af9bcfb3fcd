// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestSlowMember: the condition, the event, the status and the metric of a member that has become slow.
func TestSlowMember(t *testing.T) {
	c, v := &v1beta1.EtcdCluster{}, cluster.View{Name: "a", Record: cluster.Record{ClusterID: "c1"}}
	before := report.Status(c, v, plan.Done{}, nil)
	v.Anomalies = []cluster.Anomaly{{Member: "a-1", Signal: "fsync", Value: 0.052, Usual: 0.0021, Since: time.Unix(7, 0)}}
	after := report.Status(c, v, plan.Done{}, nil)
	if a := after.Anomalies; len(a) != 1 || a[0].Value != "52ms" || a[0].Usual != "2.1ms" || a[0].Since.Unix() != 7 {
		t.Errorf("%+v", a)
	}
	is := meta.FindStatusCondition(after.Conditions, v1beta1.ConditionPerformanceDegraded)
	was := meta.FindStatusCondition(before.Conditions, is.Type)
	if was.Reason != v1beta1.ReasonAsExpected || is.Reason != v1beta1.ReasonSlowMember {
		t.Errorf("%+v, then %+v", was, is)
	}
	events := report.Events(before, after, plan.Done{}, nil)
	note := "a-1 is slower than the others: fsync 52ms, usually 2.1ms"
	if len(events) != 1 || events[0].Type != "Warning" || !strings.Contains(events[0].Note, note) {
		t.Errorf("%+v", events)
	}
	found := false
	for _, f := range report.Figures(after, v) {
		found = found || f.Gauge.Name == "etcd_operator_member_slow" && f.Labels[0] == "a-1" && f.Labels[1] == "fsync"
	}
	if !found {
		t.Error("no metric")
	}
}

// TestSlowDisks: the condition says that disks are slower than etcd needs, where no member is slower than the others.
func TestSlowDisks(t *testing.T) {
	c, v := &v1beta1.EtcdCluster{}, cluster.View{Name: "a", Record: cluster.Record{ClusterID: "c1"}}
	v.SlowDisks = []cluster.Anomaly{{Member: "a-0", Signal: "fsync", Usual: 0.01}, {Member: "a-1", Signal: "commit", Usual: 0.025}}
	is := meta.FindStatusCondition(report.Status(c, v, plan.Done{}, nil).Conditions, v1beta1.ConditionPerformanceDegraded)
	named := strings.Contains(is.Message, "a-0 (fsync above 10ms), a-1 (commit above 25ms)")
	if is.Status != "True" || is.Reason != v1beta1.ReasonSlowDisk || !named {
		t.Errorf("%+v", is)
	}
	v.Anomalies = []cluster.Anomaly{{Member: "a-1", Signal: "fsync", Value: 0.052, Usual: 0.0021, Since: time.Unix(7, 0)}}
	is = meta.FindStatusCondition(report.Status(c, v, plan.Done{}, nil).Conditions, v1beta1.ConditionPerformanceDegraded)
	if is.Reason != v1beta1.ReasonSlowMember {
		t.Errorf("%+v", is)
	}
}
