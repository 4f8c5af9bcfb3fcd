// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestFiguresAreShown: with the labels of their cluster, as the last look has seen them, and of no cluster that is gone. The registry is
// one that checks what it gathers.
func TestFiguresAreShown(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	now := time.Unix(1_800_000_000, 0)
	clock := func() time.Time { return now }
	figures, err := Register(registry, clock)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Register(registry, clock); err != nil || again != figures {
		t.Errorf("registered again: %v, %v", again == figures, err)
	}
	view := cluster.View{Want: cluster.Want{Size: 3}, Members: []cluster.Member{{
		Name: "a-0", Role: cluster.Voter, Answers: true, Healthy: true, Leader: true, DBSize: 2 << 20, InUse: 1 << 20,
		Pod: cluster.Pod{Quota: 6 << 20},
	}, {Name: "a-1", Role: cluster.Voter}}, Alarms: []cluster.Alarm{{Kind: cluster.NoSpace, ID: 7}}}
	status := v1beta1.EtcdClusterStatus{Version: "3.6.16", TargetVersion: "3.6.16"}
	a, b := types.NamespacedName{Namespace: "one", Name: "a"}, types.NamespacedName{Namespace: "two", Name: "a"}
	figures.Set(a, append(report.Figures(status, view), report.DrillFigures(drills(time.Unix(1_800_000_000, 0)))...))
	figures.Set(b, report.Figures(status, view))
	figures.Forget(b)
	got := gathered(t, registry)
	for _, want := range []string{
		`etcd_operator_cluster_info{cluster="a",namespace="one",target="3.6.16",version="3.6.16"} 1`,
		`etcd_operator_cluster_wanted_members{cluster="a",namespace="one"} 3`,
		`etcd_operator_cluster_has_leader{cluster="a",namespace="one"} 1`,
		`etcd_operator_cluster_alarms{cluster="a",kind="NOSPACE",namespace="one"} 1`,
		`etcd_operator_member_healthy{cluster="a",member="a-0",namespace="one",role="leader"} 1`,
		`etcd_operator_member_healthy{cluster="a",member="a-1",namespace="one",role="voter"} 0`,
		`etcd_operator_member_database_in_use_bytes{cluster="a",member="a-0",namespace="one"} 1.048576e+06`,
		`etcd_operator_cluster_drills{action="KillLeader",cluster="a",namespace="one",phase="Failed"} 1`,
		`etcd_operator_cluster_drills{action="KillLeader",cluster="a",namespace="one",phase="Recovered"} 2`,
		`etcd_operator_cluster_drills{action="LoseVolume",cluster="a",namespace="one",phase="Running"} 1`,
		`etcd_operator_cluster_last_drill_recovery_seconds{action="KillLeader",cluster="a",namespace="one"} 2.5`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	for _, not := range []string{`namespace="two"`, `size_bytes{cluster="a",member="a-1"`, `seconds{action="LoseVolume"`, `phase=""`} {
		if strings.Contains(got, not) {
			t.Errorf("there is %s in\n%s", not, got)
		}
	}
}

// TestMeters: a member that runs for an hour is an hour, whenever it began and however often it was looked at. What is no longer looked at
// is not shown as if it were of now, and is not counted, until it is looked at again.
func TestMeters(t *testing.T) {
	registry, now := prometheus.NewPedanticRegistry(), time.Unix(1_800_000_000, 0)
	figures, err := Register(registry, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	size := resource.MustParse("1Ki")
	status := v1beta1.EtcdClusterStatus{VolumeSize: &size}
	running := cluster.Member{Name: "a-0", Role: cluster.Voter, Pod: cluster.Pod{Phase: cluster.Running}}
	a := types.NamespacedName{Namespace: "n", Name: "a"}
	look := func(members ...cluster.Member) {
		figures.Set(a, report.Figures(status, cluster.View{Want: cluster.Want{Size: 1}, Members: members}))
	}
	shows := func(member, bytes float64) {
		t.Helper()
		got := gathered(t, registry)
		for _, want := range []string{
			fmt.Sprintf("etcd_operator_cluster_member_seconds_total{cluster=\"a\",namespace=\"n\"} %v\n", member),
			fmt.Sprintf("etcd_operator_cluster_volume_byte_seconds_total{cluster=\"a\",namespace=\"n\"} %v\n", bytes),
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is missing in\n%s", want, got)
			}
		}
	}
	look(running)
	shows(0, 0)
	for range 120 {
		now = now.Add(30 * time.Second)
		look(running)
	}
	now = now.Add(10 * time.Second)
	shows(3610, 3610*1024)
	look()
	now = now.Add(time.Minute)
	shows(3610, 3610*1024)
	look(running)
	now = now.Add(time.Hour)
	if got := gathered(t, registry); strings.Contains(got, `cluster="a"`) {
		t.Errorf("a cluster that was not looked at for an hour has figures of now: %s", got)
	}
	look(running)
	shows(3610+300, (3610+300)*1024)
}

// drills are one with a schedule, which has failed last and had recovered twice before, one that goes on, and one that is new.
func drills(now time.Time) []v1beta1.EtcdDrill {
	ago := func(hours time.Duration) metav1.MicroTime { return metav1.NewMicroTime(now.Add(-hours * time.Hour)) }
	in := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	var scheduled, running, fresh v1beta1.EtcdDrill
	scheduled.Spec.Action, scheduled.Status.Phase, scheduled.Status.EndedAt = v1beta1.KillLeader, v1beta1.DrillFailed, new(ago(1))
	scheduled.Status.History = []v1beta1.DrillResult{
		{EndedAt: ago(2), Phase: v1beta1.DrillRecovered, RecoveredIn: in(2500 * time.Millisecond)},
		{EndedAt: ago(3), Phase: v1beta1.DrillRecovered, RecoveredIn: in(time.Second)},
	}
	running.Spec.Action, running.Status.Phase, running.Status.RecoveredIn = v1beta1.LoseVolume, v1beta1.DrillRunning, in(time.Minute)
	fresh.Spec.Action = v1beta1.KillAll
	return []v1beta1.EtcdDrill{fresh, running, scheduled}
}

// gathered are all metrics, one a line, with their labels in the order of the alphabet.
func gathered(t *testing.T, from prometheus.Gatherer) string {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			fmt.Fprintf(&text, "%s{%s} %v\n", family.GetName(), strings.Join(labels, ","), m.GetGauge().GetValue()+m.GetCounter().GetValue())
		}
	}
	return text.String()
}
