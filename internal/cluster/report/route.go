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

// withRoute adds whether Gateways take the TLSRoute that spec.clientService.tlsRoute asks for. The condition goes once none is asked for
// and none is left.
func withRoute(all []metav1.Condition, c *v1beta1.EtcdCluster, v cluster.View) []metav1.Condition {
	r := v.Route
	condition := metav1.Condition{
		Type: v1beta1.ConditionRouteAccepted, Status: metav1.ConditionFalse, ObservedGeneration: c.Generation,
	}
	say := func(reason, format string, args ...any) {
		condition.Reason, condition.Message = reason, shortened(fmt.Sprintf(format, args...))
	}
	switch {
	case !r.Read:
		return all
	case !r.Wanted && !r.Pending:
		meta.RemoveStatusCondition(&all, v1beta1.ConditionRouteAccepted)
		return all
	case r.Missing != "":
		say(v1beta1.ReasonGatewayAPIMissing, "%s, which spec.clientService.tlsRoute needs: install gateway.networking.k8s.io/v1 of the "+
			"Gateway API, and allow the operator to get, create, patch and delete them; or remove spec.clientService.tlsRoute; it is tried "+
			"again within half a minute", r.Missing)
	case r.Pending:
		say(v1beta1.ReasonRoutePending, "TLSRoute %s is not as wanted yet", c.ClientService())
	case r.Refused != "":
		say(v1beta1.ReasonRouteRefused, "TLSRoute %s leads no clients here by every Gateway: %s; correct the Gateway or "+
			"spec.clientService.tlsRoute", c.ClientService(), r.Refused)
	case r.Unanswered != "":
		say(v1beta1.ReasonRoutePending, "Gateway %s has not said whether it takes TLSRoute %s: does it exist, and does a controller of its "+
			"class run that knows TLSRoutes?", r.Unanswered, c.ClientService())
	default:
		condition.Status = metav1.ConditionTrue
		say(v1beta1.ReasonRouteAccepted, "every Gateway of spec.clientService.tlsRoute takes TLSRoute %s", c.ClientService())
	}
	meta.SetStatusCondition(&all, condition)
	return all
}
