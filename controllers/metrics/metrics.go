// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics shows Prometheus the figures of clusters, as the last look at each has seen them.
//
// It must never read anything by itself: a scrape costs no request, however many clusters there are.
package metrics

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// Steps counts what reconcilers have decided, by the name of their controller, as in controller_runtime_reconcile_total, and of the rule;
// no rule: nothing was to be done. Rules that refuse something are among them.
var Steps = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "etcd_operator_steps_total", Help: "Steps that were planned, by controller and by the rule that decided them.",
}, []string{"controller", "rule"})

// RightsMissing are the rights without which the operator does less than it could, as its log says at its start.
var RightsMissing = prometheus.NewGauge(prometheus.GaugeOpts{
	Name: "etcd_operator_rights_missing", Help: "Rights that the operator lacks, without which it does less than it could.",
})

// Clusters are the figures of all clusters.
type Clusters struct {
	Now   func() time.Time
	mutex sync.Mutex
	known map[types.NamespacedName]look
}

// look is what the last look at a cluster has seen, and what its meters had counted then, in the order of report.Meters.
type look struct {
	at      time.Time
	figures []report.Figure
	counted []float64
}

// fresh is for how long figures are shown, and counted, after a look: ten times the longest pause between two looks that succeed. Those of
// a cluster that cannot be looked at are not of now.
const fresh = 5 * time.Minute

// until is what meters have counted by then: figures are taken to be what they were at the look.
func (l look) until(now time.Time) []float64 {
	counted := make([]float64, len(report.Meters))
	copy(counted, l.counted)
	took := min(max(now.Sub(l.at), 0), fresh).Seconds()
	for i, meter := range report.Meters {
		for _, f := range l.figures {
			if f.Gauge == meter.Of {
				counted[i] += f.Value * took
			}
		}
	}
	return counted
}

var _ prometheus.Collector = (*Clusters)(nil)

// Register has figures shown by a registry, and returns where to set them: in one process there is one place.
func Register(with prometheus.Registerer, now func() time.Time) (*Clusters, error) {
	figures := &Clusters{Now: now}
	for _, own := range []prometheus.Collector{Steps, RightsMissing} {
		if err := with.Register(own); err != nil && !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
			return nil, fmt.Errorf("register the metrics of the operator: %w", err)
		}
	}
	err := with.Register(figures)
	var before prometheus.AlreadyRegisteredError
	if errors.As(err, &before) {
		if known, is := before.ExistingCollector.(*Clusters); is {
			return known, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("register the metrics of clusters: %w", err)
	}
	return figures, nil
}

// Set replaces the figures of a cluster.
func (c *Clusters) Set(cluster types.NamespacedName, figures []report.Figure) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.known == nil {
		c.known = map[types.NamespacedName]look{}
	}
	now := c.Now()
	c.known[cluster] = look{now, figures, c.known[cluster].until(now)}
}

// Forget drops the figures of a cluster that is gone.
func (c *Clusters) Forget(cluster types.NamespacedName) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.known, cluster)
}

// described are the gauges, as Prometheus knows them.
var described = func() map[*report.Gauge]*prometheus.Desc {
	all := map[*report.Gauge]*prometheus.Desc{}
	for _, g := range report.Gauges {
		all[g] = prometheus.NewDesc(g.Name, g.Help, append([]string{"namespace", "cluster"}, g.Labels...), nil)
	}
	return all
}()

// counters are the meters, in their order.
var counters = func() []*prometheus.Desc {
	all := make([]*prometheus.Desc, 0, len(report.Meters))
	for _, m := range report.Meters {
		all = append(all, prometheus.NewDesc(m.Name, m.Help, []string{"namespace", "cluster"}, nil))
	}
	return all
}()

// Describe says which metrics there are.
func (c *Clusters) Describe(to chan<- *prometheus.Desc) {
	for _, g := range report.Gauges {
		to <- described[g]
	}
	for _, counter := range counters {
		to <- counter
	}
}

// Collect shows all figures that are of now.
func (c *Clusters) Collect(to chan<- prometheus.Metric) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	now := c.Now()
	for of, last := range c.known {
		if now.Sub(last.at) > fresh {
			continue
		}
		for _, f := range last.figures {
			labels := append([]string{of.Namespace, of.Name}, f.Labels...)
			to <- prometheus.MustNewConstMetric(described[f.Gauge], prometheus.GaugeValue, f.Value, labels...)
		}
		for i, value := range last.until(now) {
			to <- prometheus.MustNewConstMetric(counters[i], prometheus.CounterValue, value, of.Namespace, of.Name)
		}
	}
}
