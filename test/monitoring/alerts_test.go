// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring tries the alerts with Prometheus' own promtool. It is a module of its own: Prometheus has hundreds of dependencies,
// and the operator none of them.
package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestAlerts: each fires when it has to, and not at what looks like it. `make test-monitoring` builds promtool.
func TestAlerts(t *testing.T) { try(t, "testdata/alerts.yaml") }

// TestAlertsOfOneCluster: so do those of a PrometheusRule, as internal/cluster/specs has it among what it makes. They rest on no operator.
func TestAlertsOfOneCluster(t *testing.T) {
	made, err := os.ReadFile("../../internal/cluster/specs/testdata/monitors.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rule, found := strings.Cut(string(made), "kind: PrometheusRule")
	_, spec, hasSpec := strings.Cut(rule, "\nspec:\n")
	tests, err := os.ReadFile("testdata/cluster.yaml")
	if err != nil || !found || !hasSpec {
		t.Fatalf("there is no rule, or no test of it: %v", err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"rules.yaml": strings.ReplaceAll("\n"+spec, "\n  ", "\n"), "cluster.yaml": string(tests)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	try(t, filepath.Join(folder, "cluster.yaml"))
}

func try(t *testing.T, tests string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "../../bin/promtool", "test", "rules", tests).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Logf("%s", output)
}

// TestEveryAlertIsTried: no rule is without a test in which it fires, beside series at which it does not.
func TestEveryAlertIsTried(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert string `json:"alert"`
			} `json:"rules"`
		} `json:"groups"`
	}
	var tests struct {
		Tests []struct {
			Series []any `json:"input_series"`
			Alerts []struct {
				Name  string `json:"alertname"`
				Fires []any  `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	read(t, "../../config/monitoring/rules.yaml", &rules)
	read(t, "testdata/alerts.yaml", &tests)
	tried := map[string]bool{}
	for _, one := range tests.Tests {
		for _, a := range one.Alerts {
			tried[a.Name] = tried[a.Name] || len(a.Fires) > 0 && len(one.Series) > len(a.Fires)
		}
	}
	if len(rules.Groups) != 1 {
		t.Fatalf("%d groups", len(rules.Groups))
	}
	for _, rule := range rules.Groups[0].Rules {
		if !tried[rule.Alert] {
			t.Errorf("%s has no test in which it fires beside a series at which it does not", rule.Alert)
		}
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
}
