package monitoring_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
	"github.com/etcd-operator/etcd-operator/internal/monitoring"
)

var update = flag.Bool("update", false, "write config/monitoring/rules.yaml instead of comparing with it")

// TestRulesFile: the file for those without the Prometheus Operator has every alert.
func TestRulesFile(t *testing.T) {
	const file = "../../config/monitoring/rules.yaml"
	text, err := yaml.Marshal(monitoring.Rules())
	if err != nil {
		t.Fatal(err)
	}
	want := "# Rules for Prometheus: rule_files in its configuration. Made by go test ./internal/monitoring -update.\n" + string(text)
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || string(have) != want {
		t.Errorf("%s is not what there is (%v): run go test ./internal/monitoring -update", file, err)
	}
}

// TestAlerts: each has a runbook, asks only for metrics that there are, and says in its summary which cluster it is about.
func TestAlerts(t *testing.T) {
	known := map[string]bool{}
	for _, g := range report.Gauges {
		known[g.Name] = true
	}
	metric := regexp.MustCompile(`etcd_operator_[a-z_]+`)
	seen := map[string]bool{}
	for _, a := range monitoring.Alerts {
		if page, err := os.ReadFile("../../docs/runbooks/" + a.Name + ".md"); err != nil || !strings.Contains(string(page), "## What to do") {
			t.Errorf("%s has no runbook that says what to do: %v", a.Name, err)
		}
		for _, name := range metric.FindAllString(a.Expr, -1) {
			if !known[name] {
				t.Errorf("%s asks for %s, which there is not", a.Name, name)
			}
		}
		if seen[a.Name] || !strings.Contains(a.Summary, "$labels.namespace") {
			t.Errorf("%s is there twice, or does not say where: %s", a.Name, a.Summary)
		}
		seen[a.Name] = true
	}
}

// TestRulesOf: each expression of one cluster selects its series alone, and alerts of the operator are left out.
func TestRulesOf(t *testing.T) {
	text, err := yaml.Marshal(monitoring.RulesOf("n", "c"))
	if err != nil {
		t.Fatal(err)
	}
	series := regexp.MustCompile(`etcd_operator_[a-z_]+(\{namespace="n",cluster="c"[,}])?`)
	rest := regexp.MustCompile(`runbook_url.*|summary.*`).ReplaceAllString(string(text), "")
	for _, found := range series.FindAllString(rest, -1) {
		if !strings.Contains(found, `{namespace="n",cluster="c"`) {
			t.Errorf("%s is not limited to the cluster", found)
		}
	}
	limited := strings.Contains(string(text), `authority_end_timestamp_seconds{namespace="n",cluster="c"}`)
	if strings.Contains(string(text), "leader_election") || !limited {
		t.Errorf("%s", text)
	}
}
