// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestMetricsPage: the page lists every metric; -update writes it. Names follow Prometheus
// (https://prometheus.io/docs/practices/naming/): base units, and none twice.
func TestMetricsPage(t *testing.T) {
	const page = "../../../docs/reference/metrics.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(text), "<!-- table -->\n")
	if !found {
		t.Fatalf("%s has no line <!-- table -->", page)
	}
	var table strings.Builder
	table.WriteString("| metric | labels | meaning |\n|---|---|---|\n")
	seen := map[string]bool{}
	rows := slices.Clone(report.Gauges)
	for _, m := range report.Meters {
		rows = append(rows, &report.Gauge{Name: m.Name, Help: m.Help})
	}
	for _, g := range rows {
		if seen[g.Name] || !regexp.MustCompile(`^etcd_operator_(cluster|member)_[a-z_]+$`).MatchString(g.Name) {
			t.Errorf("%s is no name, or one twice", g.Name)
		}
		seen[g.Name] = true
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", g.Name, strings.Join(g.Labels, ", "), g.Help)
	}
	want := head + "<!-- table -->\n" + table.String()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s is not what there is: run go test ./internal/cluster/report -update", page)
	}
}

// TestFiguresOfWhatIsNotObserved: while the operator is cut off it says neither that there is no leader nor that members are down, nor that
// etcd has raised no alarm. Where it sees that the quorum is lost it says so.
func TestFiguresOfWhatIsNotObserved(t *testing.T) {
	v := cluster.View{Want: cluster.Want{Size: 3}, Unread: "i/o timeout", Members: []cluster.Member{
		{Name: "a-0", Role: cluster.Voter, Recorded: true, Pod: cluster.Pod{Phase: cluster.Running, Ready: true, Quota: 1 << 30}},
	}}
	for status, want := range map[metav1.ConditionStatus]string{
		metav1.ConditionUnknown: "",
		metav1.ConditionFalse:   "etcd_operator_cluster_has_leader etcd_operator_member_healthy etcd_operator_member_is_leader",
	} {
		conditions := []metav1.Condition{{Type: v1beta1.ConditionAvailable, Status: status, Reason: "R"}}
		var said []string
		for _, f := range report.Figures(v1beta1.EtcdClusterStatus{Conditions: conditions}, v) {
			switch f.Gauge.Name {
			case "etcd_operator_cluster_has_leader", "etcd_operator_member_healthy", "etcd_operator_member_is_leader",
				"etcd_operator_cluster_alarms":
				said = append(said, f.Gauge.Name)
			}
		}
		if got := strings.Join(said, " "); got != want {
			t.Errorf("Available is %s: there are %q, want %q", status, got, want)
		}
	}
}
