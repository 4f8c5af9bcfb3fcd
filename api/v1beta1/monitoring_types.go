// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Monitoring has the operator make objects of the Prometheus Operator for a cluster, with the cluster's name. Whether they are there is in
// the condition Monitored. Who wants more of them than this makes them by hand, from config/monitoring.
type Monitoring struct {
	// podMonitor has Prometheus scrape the metrics of etcd from each member. Default: there is no PodMonitor.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="PodMonitor",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=127
	PodMonitor *PodMonitor `json:"podMonitor,omitempty"`

	// prometheusRule has the alerts of docs/runbooks, for this cluster alone. They are over metrics of the operator, which must be
	// scraped, too. Default: there is no PrometheusRule.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="PrometheusRule",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=128
	PrometheusRule *PrometheusRule `json:"prometheusRule,omitempty"`
}

// PrometheusRule says how the object is made.
type PrometheusRule struct {
	// labels are added to the object. Prometheus selects rules by them: kube-prometheus-stack by release, unless it is told otherwise.
	// Default: none but the operator's.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="monitoring labels must have keys as Kubernetes wants them, such as release or example.com/team"
	Labels map[string]LabelValue `json:"labels,omitempty"`
}

// PodMonitor says how the object is made.
type PodMonitor struct {
	// labels are added to the object. Prometheus selects monitors by them: kube-prometheus-stack by release, unless it is told otherwise.
	// Default: none but the operator's.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="monitoring labels must have keys as Kubernetes wants them, such as release or example.com/team"
	Labels map[string]LabelValue `json:"labels,omitempty"`

	// interval is between two scrapes of a member. Default: Prometheus' own; at least 5s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s') && duration(self) <= duration('10m')",message="monitoring.podMonitor.interval must be between 5s and 10m"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// relabelings change the labels of members before they are scraped.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Relabelings []Relabeling `json:"relabelings,omitempty"`

	// metricRelabelings change, keep or drop samples before they are stored.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	MetricRelabelings []Relabeling `json:"metricRelabelings,omitempty"`
}

// Relabeling is a step by which Prometheus rewrites labels
// (https://prometheus.io/docs/prometheus/latest/configuration/configuration/#relabel_config).
type Relabeling struct {
	// sourceLabels are joined by the separator, and matched with the expression.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=128
	SourceLabels []string `json:"sourceLabels,omitempty"`

	// separator is between the values of sourceLabels. Default ";".
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Separator *string `json:"separator,omitempty"`

	// targetLabel is what the result is written to.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	TargetLabel string `json:"targetLabel,omitempty"`

	// regex is matched with the whole value. Default "(.*)".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Regex string `json:"regex,omitempty"`

	// modulus is taken of the hash of the value, with action hashmod.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Modulus int64 `json:"modulus,omitempty"`

	// replacement may name groups of the expression. Default "$1".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Replacement *string `json:"replacement,omitempty"`

	// action is what is done if the expression matches. Default replace.
	// +optional
	// +kubebuilder:validation:Enum=replace;keep;drop;hashmod;labelmap;labeldrop;labelkeep;lowercase;uppercase;keepequal;dropequal
	Action string `json:"action,omitempty"`
}

// ConditionMonitored is True while the objects that spec.monitoring asks for are there and Prometheus may reach what they name. An
// EtcdCluster has it only where it asks for some.
const ConditionMonitored = "Monitored"

// Reasons of ConditionMonitored.
const (
	// ReasonMonitored: all are there.
	ReasonMonitored = "Monitored"
	// ReasonPrometheusOperatorMissing: Kubernetes has no objects of the kind, or the operator may not read them.
	ReasonPrometheusOperatorMissing = "PrometheusOperatorMissing"
	// ReasonScrapingDenied: the NetworkPolicy of the cluster admits no reader of metrics.
	ReasonScrapingDenied = "ScrapingDenied"
	// ReasonMonitorPending: they have yet to be made.
	ReasonMonitorPending = "Pending"
)

// IsZero says whether nothing is asked for.
func (m Monitoring) IsZero() bool { return m.PodMonitor == nil && m.PrometheusRule == nil }
