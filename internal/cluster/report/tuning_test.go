// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestTuningInStatus: advice is in the status, and so is what an earlier version has put into effect, until the spec is changed.
func TestTuningInStatus(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	longer := cluster.Advice{Setting: v1beta1.SettingElection, Now: "1s", Wanted: "2s", Why: "because", Since: at.Unix()}
	v := cluster.View{Name: "a", Record: cluster.Record{ClusterID: "c1"}, Advice: []cluster.Advice{longer}}
	c := &v1beta1.EtcdCluster{}
	c.Status = report.Status(c, v, plan.Done{}, nil)
	if got := c.Status.Recommendations; len(got) != 1 || got[0].Wanted != "2s" || !got[0].Since.Time.Equal(at) {
		t.Errorf("recommended: %v", got)
	}
	c.Spec.Tuning, c.Spec.Etcd.ElectionTimeout.Duration, c.Status.Tuned = v1beta1.TuningApply, time.Second, c.Status.Recommendations
	if c.Status = report.Status(c, v, plan.Done{}, nil); len(c.Status.Tuned) != 1 {
		t.Errorf("forgotten: %v", c.Status.Tuned)
	}
	c.Spec.Etcd.ElectionTimeout.Duration = 3 * time.Second
	if c.Status = report.Status(c, v, plan.Done{}, nil); len(c.Status.Tuned) > 0 {
		t.Errorf("still tuned after a change of the spec: %v", c.Status.Tuned)
	}
}

// TestScalingInStatus: the status says what members are given beyond the spec, and why there is no more.
func TestScalingInStatus(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	v := cluster.View{Name: "a", Record: cluster.Record{ClusterID: "c1"}}
	v.At = at.Unix()
	c := &v1beta1.EtcdCluster{}
	c.Status = report.Status(c, v, plan.RecordScaling(v, cluster.Computing{CPU: 750, Memory: 384 << 20}, "a-0 uses it", false), nil)
	if got := c.Status.Autoscale; got == nil || got.CPU.String() != "750m" || got.Memory.String() != "384Mi" || got.Refused != "" {
		t.Fatalf("autoscale: %v", got)
	}
	c.Status = report.Status(c, v, plan.RecordScaling(v, cluster.Computing{Memory: 256 << 20}, "no room", true), nil)
	if got := c.Status.Autoscale; got.CPU != nil || got.Memory.String() != "256Mi" || got.Refused != "no room" || !got.Since.Time.Equal(at) {
		t.Errorf("autoscale after it was refused: %v", got)
	}
}
