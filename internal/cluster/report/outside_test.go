// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestOutsideIsReported: where clients outside of the Kubernetes cluster connect to, and that a load balancer has no address. What is not
// seen stays as it was, and goes with the type.
func TestOutsideIsReported(t *testing.T) {
	const address = "203.0.113.7:2379"
	endpoints := []cluster.Endpoint{{Address: address, Source: string(v1beta1.FromLoadBalancer)}}
	c := formed()
	for _, step := range []struct {
		kind v1beta1.ClientServiceType
		seen cluster.Outside
		want string // reason of the condition, and the endpoints
		says string
	}{
		{v1beta1.ClientServiceClusterIP, cluster.Outside{Read: true}, "none []", ""},
		{v1beta1.ClientServiceLoadBalancer, cluster.Outside{}, "none []", ""},
		{
			v1beta1.ClientServiceLoadBalancer,
			cluster.Outside{Read: true, Balanced: true, Waiting: []string{"a-client"}},
			"False AddressPending []",
			"waiting for the address of a load balancer: Service a-client",
		},
		{
			v1beta1.ClientServiceLoadBalancer,
			cluster.Outside{Read: true, Balanced: true, Waiting: []string{"a-client"}, Late: true},
			"False AddressMissing []",
			"no address for 2m0s: Service a-client; see with kubectl describe service a-client what assigns addresses to load " +
				"balancers in this Kubernetes cluster, and what it says; clients within it are served",
		},
		{
			v1beta1.ClientServiceLoadBalancer,
			cluster.Outside{Read: true, Balanced: true, Endpoints: endpoints},
			"True Assigned [{203.0.113.7:2379  LoadBalancer}]",
			"every load balancer of Service a-client has an address: see status.externalEndpoints",
		},
		{
			v1beta1.ClientServiceLoadBalancer,
			cluster.Outside{},
			"True Assigned [{203.0.113.7:2379  LoadBalancer}]",
			"every load balancer of Service a-client has an address: see status.externalEndpoints",
		},
		{v1beta1.ClientServiceClusterIP, cluster.Outside{}, "none [{203.0.113.7:2379  LoadBalancer}]", ""},
		{v1beta1.ClientServiceClusterIP, cluster.Outside{Read: true}, "none []", ""},
	} {
		c.Spec.ClientService = &v1beta1.ClientService{Type: step.kind}
		v := healthy()
		v.Outside = step.seen
		c.Status = report.Status(c, v, plan.Done{}, nil)
		got, says := "none", ""
		if condition := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionAddressAssigned); condition != nil {
			got, says = fmt.Sprintf("%s %s", condition.Status, condition.Reason), condition.Message
		}
		if got += fmt.Sprintf(" %v", c.Status.ExternalEndpoints); got != step.want || says != step.says {
			t.Errorf("%s, %+v:\ngot  %s: %s\nwant %s: %s", step.kind, step.seen, got, says, step.want, step.says)
		}
		if degraded := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionDegraded); degraded.Reason != v1beta1.ReasonAsExpected {
			t.Errorf("Degraded says %s", degraded.Message)
		}
	}
}

// TestRouteIsReported: whether Gateways take a TLSRoute, and what keeps it from being of use.
func TestRouteIsReported(t *testing.T) {
	c := formed()
	for _, step := range []struct{ seen, want, says string }{
		{"", "none", ""},
		{"missing", "False GatewayAPIMissing", "Kubernetes knows no TLSRoutes of the Gateway API, which spec.clientService.tlsRoute needs"},
		{"pending", "False RoutePending", "TLSRoute a-client is not as wanted yet"},
		{"refused", "False RouteRefused", "TLSRoute a-client leads no clients here by every Gateway: Gateway edge: no"},
		{"unanswered", "False RoutePending", "Gateway edge has not said whether it takes TLSRoute a-client"},
		{"taken", "True Accepted", "every Gateway of spec.clientService.tlsRoute takes TLSRoute a-client"},
		{"unread", "True Accepted", "every Gateway"},
		{"going", "False RoutePending", "TLSRoute a-client is not as wanted yet"},
		{"gone", "none", ""},
	} {
		v := healthy()
		v.Route = map[string]cluster.Route{
			"missing":    {Read: true, Wanted: true, Missing: "Kubernetes knows no TLSRoutes of the Gateway API"},
			"pending":    {Read: true, Wanted: true, Pending: true},
			"refused":    {Read: true, Wanted: true, Refused: "Gateway edge: no"},
			"unanswered": {Read: true, Wanted: true, Unanswered: "edge"},
			"taken":      {Read: true, Wanted: true},
			"going":      {Read: true, Pending: true},
			"gone":       {Read: true},
		}[step.seen]
		c.Status = report.Status(c, v, plan.Done{}, nil)
		got, says := "none", ""
		if condition := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionRouteAccepted); condition != nil {
			got, says = fmt.Sprintf("%s %s", condition.Status, condition.Reason), condition.Message
		}
		if got != step.want || !strings.HasPrefix(says, step.says) {
			t.Errorf("%s: got %s: %s, want %s: %s", step.seen, got, says, step.want, step.says)
		}
	}
}
