package report_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

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
	for _, g := range report.Gauges {
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
