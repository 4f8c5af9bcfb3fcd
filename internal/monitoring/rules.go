package monitoring

import (
	"fmt"
	"time"
)

// Runbooks is where the page of each alert is.
const Runbooks = "https://github.com/etcd-operator/etcd-operator/blob/main/docs/runbooks/"

// Rules are the alerts as a group of rules of Prometheus, which is also the spec of a PrometheusRule
// (https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PrometheusRule).
func Rules() map[string]any {
	rules := make([]any, 0, len(Alerts))
	for _, a := range Alerts {
		rule := map[string]any{
			"alert": a.Name, "expr": a.Expr, "labels": map[string]any{"severity": string(a.Severity)},
			"annotations": map[string]any{"summary": a.Summary, "runbook_url": Runbooks + a.Name + ".md"},
		}
		if a.For > 0 {
			rule["for"] = duration(a.For)
		}
		rules = append(rules, rule)
	}
	return map[string]any{"groups": []any{map[string]any{"name": "etcd-operator", "rules": rules}}}
}

// duration is a time as Prometheus writes it: it knows no 1h0m0s.
func duration(d time.Duration) string {
	if d%time.Hour == 0 {
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dm", d/time.Minute)
}
