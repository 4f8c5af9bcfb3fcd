// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// withMonitoring adds whether what spec.monitoring asks for is there and of use. The condition goes once nothing is asked for and nothing
// of it is left, or can be.
func withMonitoring(all []metav1.Condition, c *v1beta1.EtcdCluster, v cluster.View) []metav1.Condition {
	m := v.Monitoring
	condition := metav1.Condition{
		Type: v1beta1.ConditionMonitored, Status: metav1.ConditionFalse, ObservedGeneration: c.Generation,
	}
	say := func(reason, format string, args ...any) {
		condition.Reason, condition.Message = reason, shortened(fmt.Sprintf(format, args...))
	}
	switch {
	case !m.Read:
		return all
	case !m.Wanted && !m.Pending:
		meta.RemoveStatusCondition(&all, v1beta1.ConditionMonitored)
		return all
	case m.Missing != "":
		say(v1beta1.ReasonPrometheusOperatorMissing, "%s, which spec.monitoring needs: install the Prometheus Operator, and allow the operator "+
			"to get, create, patch and delete them; or remove spec.monitoring; it is tried again within half a minute", m.Missing)
	case m.Pending:
		say(v1beta1.ReasonMonitorPending, "objects of the Prometheus Operator are not as wanted yet")
	case m.Denied:
		say(v1beta1.ReasonScrapingDenied, "NetworkPolicy %s admits only the operator to port %d of members: "+
			"name the Pods of Prometheus in spec.networkPolicy.metrics", c.MemberPolicy(), v1beta1.MetricsPort)
	default:
		condition.Status = metav1.ConditionTrue
		say(v1beta1.ReasonMonitored, "the objects of the Prometheus Operator that spec.monitoring asks for are there")
	}
	meta.SetStatusCondition(&all, condition)
	return all
}
