package report_test

import (
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestRecommendations: advice does not change with every measurement, outlives the process that has measured, and ends when it is followed
// or turned off.
func TestRecommendations(t *testing.T) {
	c := &v1alpha1.EtcdCluster{}
	c.Spec.Etcd.HeartbeatInterval.Duration, c.Spec.Etcd.ElectionTimeout.Duration = 100*time.Millisecond, 2500*time.Millisecond
	look := func(roundTrip time.Duration, want ...string) {
		t.Helper()
		v := cluster.View{Name: "a", Record: cluster.Record{ClusterID: "c1"}, RoundTrip: roundTrip}
		c.Status = report.Status(c, v, plan.Done{}, nil)
		var got []string
		for _, r := range c.Status.Recommendations {
			got = append(got, r.Setting+" "+r.Now+" "+r.Wanted)
		}
		if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("%s: %q, want %q", roundTrip, got, want)
		}
	}
	look(0)
	look(210*time.Millisecond, "etcd.heartbeatInterval 100ms 210ms")
	look(235*time.Millisecond, "etcd.heartbeatInterval 100ms 210ms")
	look(0, "etcd.heartbeatInterval 100ms 210ms")
	c.Spec.Etcd.HeartbeatInterval.Duration = 210 * time.Millisecond
	look(0)
	look(235 * time.Millisecond)
	c.Spec.Etcd.HeartbeatInterval.Duration = 50 * time.Millisecond
	look(220*time.Millisecond, "etcd.heartbeatInterval 50ms 220ms")
	c.Spec.Tuning = v1alpha1.TuningOff
	look(220 * time.Millisecond)
}
