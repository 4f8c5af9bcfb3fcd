package metrics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestFiguresAreShown: with the labels of their cluster, as the last look has seen them, and of no cluster that is gone. The registry is
// one that checks what it gathers.
func TestFiguresAreShown(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	figures, err := Register(registry)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Register(registry); err != nil || again != figures {
		t.Errorf("registered again: %v, %v", again == figures, err)
	}
	view := cluster.View{Want: cluster.Want{Size: 3}, Members: []cluster.Member{{
		Name: "a-0", Role: cluster.Voter, Answers: true, Healthy: true, Leader: true, DBSize: 2 << 20, InUse: 1 << 20,
		Pod: cluster.Pod{Quota: 6 << 20},
	}, {Name: "a-1", Role: cluster.Voter}}, Alarms: []cluster.Alarm{{Kind: cluster.NoSpace, ID: 7}}}
	status := v1alpha1.EtcdClusterStatus{Version: "3.6.16", TargetVersion: "3.6.16"}
	a, b := types.NamespacedName{Namespace: "one", Name: "a"}, types.NamespacedName{Namespace: "two", Name: "a"}
	figures.Set(a, report.Figures(status, view))
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
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	for _, not := range []string{`namespace="two"`, `size_bytes{cluster="a",member="a-1"`} {
		if strings.Contains(got, not) {
			t.Errorf("there is %s in\n%s", not, got)
		}
	}
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
			fmt.Fprintf(&text, "%s{%s} %v\n", family.GetName(), strings.Join(labels, ","), m.GetGauge().GetValue())
		}
	}
	return text.String()
}
