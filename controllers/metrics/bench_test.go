// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// BenchmarkScrapeOf100Clusters is one scrape of the figures of 100 clusters with three members each. The goal is a second and 20 MiB.
func BenchmarkScrapeOf100Clusters(b *testing.B) {
	registry := prometheus.NewRegistry()
	figures, err := Register(registry, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	for n := range 100 {
		v := cluster.View{Want: cluster.Want{Size: 3}}
		for m := range 3 {
			v.Members = append(v.Members, cluster.Member{
				Name: fmt.Sprintf("example-%d-%d", n, m), Role: cluster.Voter, Answers: true, Healthy: true, Leader: m == 0,
				DBSize: 2 << 30, InUse: 1 << 30, Pod: cluster.Pod{Quota: 6 << 30},
			})
		}
		status := v1beta1.EtcdClusterStatus{Version: "3.6.16", TargetVersion: "3.6.16"}
		for _, kind := range []string{"Available", "Progressing", "Degraded", "Ready", "PerformanceDegraded", "Monitored"} {
			status.Conditions = append(status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Healthy"})
		}
		figures.Set(types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("example-%d", n)}, report.Figures(status, v))
	}
	var text bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		text.Reset()
		families, err := registry.Gather()
		if err != nil {
			b.Fatal(err)
		}
		encoder := expfmt.NewEncoder(&text, expfmt.NewFormat(expfmt.TypeTextPlain))
		for _, family := range families {
			if err := encoder.Encode(family); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(text.Len()), "bytes/scrape")
}
