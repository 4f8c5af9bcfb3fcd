// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// HasMonitors says whether a cluster has, or may still have, objects of the Prometheus Operator.
func HasMonitors(c *v1beta1.EtcdCluster) bool {
	return !c.Spec.Monitoring.IsZero() || meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionMonitored) != nil
}

// monitors names the objects of the Prometheus Operator that are missing, not as wanted, or not wanted any more, and says what keeps them
// from being of use. They are never in the way of anything else.
func (j *builder) monitors() {
	status := &j.v.Monitoring
	if !HasMonitors(j.c) {
		return
	}
	status.Read, status.Wanted = true, !j.c.Spec.Monitoring.IsZero()
	if status.Missing = j.NoMonitors; status.Missing != "" {
		return
	}
	before, foreign := len(j.v.Objects), len(j.v.Foreign)
	for _, monitor := range specs.Monitors(j.c) {
		kind := monitor.GetKind()
		have := j.Monitors[kind]
		switch {
		case monitor.Wanted:
			j.compare(kind, monitor, have, have != nil, func() bool {
				return equality.Semantic.DeepDerivative(monitor.Object["spec"], have.Object["spec"])
			})
		case have != nil && specs.Foreign(j.c, have) == "":
			j.v.Objects = append(j.v.Objects, cluster.Object{
				Kind: kind, Name: have.GetName(), UID: string(have.GetUID()), Why: "spec.monitoring does not ask for it",
			})
		}
	}
	status.Pending = len(j.v.Objects) > before || len(j.v.Foreign) > foreign
	for i := range j.v.Objects[before:] {
		j.v.Objects[before+i].CanWait = true
	}
	status.Denied = j.c.Spec.Monitoring.PodMonitor != nil && j.isPoliced() && len(j.c.Spec.NetworkPolicy.Metrics) == 0
}
