// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// monitored is a scene with both objects of the Prometheus Operator, as its spec wants them.
func monitored(t *testing.T) *scene {
	s := policed(t, true)
	s.c.Spec.Monitoring = v1beta1.Monitoring{PodMonitor: &v1beta1.PodMonitor{}, PrometheusRule: &v1beta1.PrometheusRule{}}
	for _, monitor := range specs.Monitors(s.c) {
		monitor.SetUID("m1")
		s.objects = append(s.objects, monitor.Unstructured)
	}
	return s
}

// TestMonitors: what is made, corrected and taken away again for Prometheus, and what of it is said.
func TestMonitors(t *testing.T) {
	const missing = "PodMonitor a: it is missing"
	none := func(s *scene) { s.c.Spec.Monitoring = v1beta1.Monitoring{} }
	wasMonitored := func(s *scene) {
		s.c.Status.Conditions = append(s.c.Status.Conditions, metav1.Condition{Type: v1beta1.ConditionMonitored, Status: metav1.ConditionTrue})
	}
	for name, test := range map[string]struct {
		spoil func(*scene)
		want  string // the objects that are not as wanted
		view  cluster.Monitoring
	}{
		"as wanted, and nobody may scrape": {func(*scene) {}, "", cluster.Monitoring{Wanted: true, Denied: true}},
		"a reader of metrics is let in": {func(s *scene) {
			s.c.Spec.NetworkPolicy.Metrics = []v1beta1.NetworkPeer{{PodSelector: &v1beta1.NetworkSelector{}}}
			s.policy().Spec = specs.NetworkPolicy(s.c, s.operator).Spec
		}, "", cluster.Monitoring{Wanted: true}},
		"of another owner": {
			func(s *scene) { s.find("PodMonitor a").SetOwnerReferences(owner("EtcdCluster", "b", "u9")) },
			"",
			cluster.Monitoring{Wanted: true, Pending: true, Denied: true},
		},
		"deleted by hand": {func(s *scene) { s.drop("PodMonitor a") }, missing, cluster.Monitoring{Wanted: true, Pending: true, Denied: true}},
		"changed by hand": {
			func(s *scene) {
				_ = unstructured.SetNestedField(s.find("PrometheusRule a").(*unstructured.Unstructured).Object, []any{}, "spec", "groups")
			},
			"PrometheusRule a: it is not as wanted",
			cluster.Monitoring{Wanted: true, Pending: true, Denied: true},
		},
		"fields that others have set stay": {func(s *scene) {
			_ = unstructured.SetNestedField(s.find("PodMonitor a").(*unstructured.Unstructured).Object, int64(9), "spec", "sampleLimit")
		}, "", cluster.Monitoring{Wanted: true, Denied: true}},
		"not wanted any more": {
			func(s *scene) { none(s); wasMonitored(s) },
			"PodMonitor a: spec.monitoring does not ask for it, delete m1PrometheusRule a: spec.monitoring does not ask for it, delete m1",
			cluster.Monitoring{Pending: true},
		},
		"never wanted": {none, "", cluster.Monitoring{}},
		"not wanted any more, and of another owner": {func(s *scene) {
			none(s)
			wasMonitored(s)
			for _, kind := range []string{"PodMonitor a", "PrometheusRule a"} {
				s.find(kind).SetOwnerReferences(nil)
				s.find(kind).SetLabels(nil)
			}
		}, "", cluster.Monitoring{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := monitored(t)
			test.spoil(s)
			got, v := "", s.look()
			for _, o := range v.Objects {
				got += o.String() + ": " + o.Why
				if o.UID != "" {
					got += ", delete " + o.UID
				}
			}
			test.view.Read = name != "never wanted"
			if got != test.want || v.Monitoring != test.view {
				t.Errorf("got %q and %+v, want %q and %+v", got, v.Monitoring, test.want, test.view)
			}
		})
	}
}
