// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Runbooks is where the page of each alert is.
const Runbooks = "https://github.com/etcd-operator/etcd-operator/blob/main/docs/runbooks/"

// Rules are the alerts of all clusters and of the operator as a group of rules of Prometheus, which is also the spec of a PrometheusRule
// (https://prometheus-operator.dev/docs/api-reference/api/#monitoring.coreos.com/v1.PrometheusRule). They are about the operator of that
// namespace, beside which there may be others; if it is empty, about any.
func Rules(namespace string) map[string]any {
	all := slices.DeleteFunc(slices.Clone(Alerts), func(a Alert) bool { return a.Single })
	return rules(all, func(expr string) string {
		if namespace == "" {
			return expr
		}
		return strings.ReplaceAll(expr, elections, fmt.Sprintf("%s,namespace=%q}", strings.TrimSuffix(elections, "}"), namespace))
	})
}

// RulesOf are the alerts of one cluster.
func RulesOf(namespace, cluster string) map[string]any {
	var own []Alert
	for _, a := range Alerts {
		if ofCluster.MatchString(a.Expr) {
			own = append(own, a)
		}
	}
	return rules(own, func(expr string) string {
		only := fmt.Sprintf("{namespace=%q,cluster=%q", namespace, cluster)
		return ofCluster.ReplaceAllStringFunc(expr, func(series string) string {
			if metric, has := strings.CutSuffix(series, "{"); has {
				return metric + only + ","
			}
			return series + only + "}"
		})
	})
}

// ofCluster is the beginning of a selector of series of clusters: the operator's, etcd's own, and whether members were scraped.
var ofCluster = regexp.MustCompile(`\b(etcd_[a-z_]+|up\b)\{?`)

func rules(alerts []Alert, limited func(string) string) map[string]any {
	all := make([]any, 0, len(alerts))
	for _, a := range alerts {
		rule := map[string]any{
			"alert": a.Name, "expr": limited(a.Expr), "labels": map[string]any{"severity": string(a.Severity)},
			"annotations": map[string]any{"summary": a.Summary, "runbook_url": Runbooks + a.Name + ".md"},
		}
		if a.For > 0 {
			rule["for"] = Duration(a.For)
		}
		all = append(all, rule)
	}
	return map[string]any{"groups": []any{map[string]any{"name": "etcd-operator", "rules": all}}}
}

// Duration is a time as Prometheus writes it: it knows no 1h0m0s. What is less than a second is dropped.
func Duration(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	default:
		return fmt.Sprintf("%ds", d/time.Second)
	}
}
