// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/monitoring"
)

// The kinds of the Prometheus Operator. The operator does not depend on its module: an installation without it knows no such kinds.
var (
	PodMonitorKind     = schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "PodMonitor"}
	PrometheusRuleKind = PodMonitorKind.GroupVersion().WithKind("PrometheusRule")
)

// A Monitor is an object of the Prometheus Operator.
type Monitor struct {
	*unstructured.Unstructured
	Wanted bool // spec.monitoring asks for it
}

// Monitors are all that there may be for a cluster (https://prometheus-operator.dev/docs/api-reference/api/).
func Monitors(c *v1beta1.EtcdCluster) []Monitor {
	m := c.Spec.Monitoring
	scraped, ruled := m.PodMonitor, m.PrometheusRule
	if scraped == nil {
		scraped = &v1beta1.PodMonitor{}
	}
	if ruled == nil {
		ruled = &v1beta1.PrometheusRule{}
	}
	return []Monitor{
		{monitor(c, PodMonitorKind, scraped.Labels, podMonitorSpec(c, *scraped)), m.PodMonitor != nil},
		{monitor(c, PrometheusRuleKind, ruled.Labels, monitoring.RulesOf(c.Namespace, c.Name)), m.PrometheusRule != nil},
	}
}

func podMonitorSpec(c *v1beta1.EtcdCluster, m v1beta1.PodMonitor) map[string]any {
	endpoint := map[string]any{"port": "metrics", "path": "/metrics", "scheme": "http"}
	if m.Interval != nil {
		endpoint["interval"] = monitoring.Duration(m.Interval.Duration)
	}
	// The member is a label of its own: a Pod that is made again has the same name, and one of another member never has.
	relabelings := []any{
		map[string]any{"sourceLabels": []any{"__meta_kubernetes_pod_name"}, "targetLabel": "member"},
		map[string]any{"targetLabel": "cluster", "replacement": c.Name},
	}
	endpoint["relabelings"] = append(relabelings, steps(m.Relabelings)...)
	if len(m.MetricRelabelings) > 0 {
		endpoint["metricRelabelings"] = steps(m.MetricRelabelings)
	}
	labels := map[string]any{}
	for name, value := range MemberSelector(c) {
		labels[name] = value
	}
	return map[string]any{"selector": map[string]any{"matchLabels": labels}, "podMetricsEndpoints": []any{endpoint}}
}

// steps leave out what is not set, so that Prometheus' own defaults count.
func steps(all []v1beta1.Relabeling) []any {
	made := make([]any, 0, len(all))
	for _, r := range all {
		step := map[string]any{}
		var labels []any
		for _, label := range r.SourceLabels {
			labels = append(labels, label)
		}
		set(step, "sourceLabels", any(labels), len(labels) > 0)
		set(step, "targetLabel", r.TargetLabel, r.TargetLabel != "")
		set(step, "regex", r.Regex, r.Regex != "")
		set(step, "action", r.Action, r.Action != "")
		set(step, "modulus", r.Modulus, r.Modulus > 0)
		set(step, "separator", ptr.Deref(r.Separator, ""), r.Separator != nil)
		set(step, "replacement", ptr.Deref(r.Replacement, ""), r.Replacement != nil)
		made = append(made, step)
	}
	return made
}

func set(step map[string]any, field string, value any, is bool) {
	if is {
		step[field] = value
	}
}

func monitor(
	c *v1beta1.EtcdCluster, kind schema.GroupVersionKind, labels map[string]v1beta1.LabelValue, spec map[string]any,
) *unstructured.Unstructured {
	meta := owned(c, c.Name)
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(kind)
	object.SetName(meta.Name)
	object.SetNamespace(meta.Namespace)
	object.SetLabels(merged(meta.Labels, labelTexts(labels)))
	object.SetOwnerReferences(meta.OwnerReferences)
	return object
}
