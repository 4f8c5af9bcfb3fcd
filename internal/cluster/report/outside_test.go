package report_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestOutsideIsReported: where clients outside of the Kubernetes cluster connect to, and that a load balancer has no address. What is not
// seen stays as it was, and goes with the type.
func TestOutsideIsReported(t *testing.T) {
	const address = "203.0.113.7:2379"
	endpoints := []cluster.Endpoint{{Address: address, Source: string(v1alpha1.FromLoadBalancer)}}
	c := formed()
	for _, step := range []struct {
		kind v1alpha1.ClientServiceType
		seen cluster.Outside
		want string // reason of the condition, and the endpoints
		says string
	}{
		{v1alpha1.ClientServiceClusterIP, cluster.Outside{Read: true}, "none []", ""},
		{v1alpha1.ClientServiceLoadBalancer, cluster.Outside{}, "none []", ""},
		{
			v1alpha1.ClientServiceLoadBalancer,
			cluster.Outside{Read: true, Balanced: true},
			"False AddressPending []",
			"the Service a-client waits for the address of a load balancer",
		},
		{
			v1alpha1.ClientServiceLoadBalancer,
			cluster.Outside{Read: true, Balanced: true, Late: true},
			"False AddressMissing []",
			"the Service a-client has had no address for 2m0s: see with kubectl describe service a-client what assigns addresses to load " +
				"balancers in this Kubernetes cluster, and what it says; clients within it are served",
		},
		{
			v1alpha1.ClientServiceLoadBalancer,
			cluster.Outside{Read: true, Balanced: true, Assigned: true, Endpoints: endpoints},
			"True Assigned [{203.0.113.7:2379 LoadBalancer}]", "the load balancer of Service a-client has an address: see status.externalEndpoints",
		},
		{
			v1alpha1.ClientServiceLoadBalancer,
			cluster.Outside{},
			"True Assigned [{203.0.113.7:2379 LoadBalancer}]",
			"the load balancer of Service a-client has an address: see status.externalEndpoints",
		},
		{v1alpha1.ClientServiceClusterIP, cluster.Outside{}, "none [{203.0.113.7:2379 LoadBalancer}]", ""},
		{v1alpha1.ClientServiceClusterIP, cluster.Outside{Read: true}, "none []", ""},
	} {
		c.Spec.ClientService = &v1alpha1.ClientService{Type: step.kind}
		v := healthy()
		v.Outside = step.seen
		c.Status = report.Status(c, v, plan.Done{}, nil)
		got, says := "none", ""
		if condition := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionAddressAssigned); condition != nil {
			got, says = fmt.Sprintf("%s %s", condition.Status, condition.Reason), condition.Message
		}
		if got += fmt.Sprintf(" %v", c.Status.ExternalEndpoints); got != step.want || says != step.says {
			t.Errorf("%s, %+v:\ngot  %s: %s\nwant %s: %s", step.kind, step.seen, got, says, step.want, step.says)
		}
		if degraded := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionDegraded); degraded.Reason != v1alpha1.ReasonAsExpected {
			t.Errorf("Degraded says %s", degraded.Message)
		}
	}
}
