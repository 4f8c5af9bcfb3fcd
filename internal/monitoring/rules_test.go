// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

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
	text, err := yaml.Marshal(monitoring.Rules(""))
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
	// Of several installations the one is not missed while another is there: its own rule names it, and that of a cluster the cluster.
	ofAny := map[string]bool{"EtcdOperatorGone": true}
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
		if seen[a.Name] || !ofAny[a.Name] && !strings.Contains(a.Summary, "$labels.namespace") {
			t.Errorf("%s is there twice, or does not say where: %s", a.Name, a.Summary)
		}
		seen[a.Name] = true
	}
}

// TestNoReplicaIsPartOfAnAlert: which replica of the operator was asked is not among the labels of what an alert reads, because the next
// one would begin the time anew after which it fires.
func TestNoReplicaIsPartOfAnAlert(t *testing.T) {
	series := regexp.MustCompile(`\b(etcd_[a-z_]+|up|leader_election_master_status)\b`)
	grouped := regexp.MustCompile(`(max|sum) by \([a-z, ]+\) \(((predict_linear|rate)\()?$|absent\($`)
	for _, a := range monitoring.Alerts {
		for _, at := range series.FindAllStringIndex(a.Expr, -1) {
			if !grouped.MatchString(a.Expr[:at[0]]) {
				t.Errorf("%s reads %s with the labels of the replica", a.Name, a.Expr[at[0]:at[1]])
			}
		}
	}
}

// TestRulesOfAnInstallation: another one does not keep the alert from firing that this one is gone.
func TestRulesOfAnInstallation(t *testing.T) {
	text, err := yaml.Marshal(monitoring.Rules("here"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `absent(leader_election_master_status{name="etcd-operator.dev",namespace="here"})`) ||
		strings.Contains(string(text), `etcd_operator_cluster_has_leader{`) {
		t.Errorf("%s", text)
	}
}

// TestRulesOf: each expression of one cluster selects its series alone, and alerts of the operator are left out.
func TestRulesOf(t *testing.T) {
	text, err := yaml.Marshal(monitoring.RulesOf("n", "c"))
	if err != nil {
		t.Fatal(err)
	}
	series := regexp.MustCompile(`\b(etcd_[a-z_]+|up\b)(\{namespace="n",cluster="c"[,}])?`)
	rest := regexp.MustCompile(`runbook_url.*|summary.*|name: etcd-operator`).ReplaceAllString(string(text), "")
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
