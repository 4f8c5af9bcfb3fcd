package report

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// externalEndpoints are where clients outside of the Kubernetes cluster connect to.
func externalEndpoints(o cluster.Outside) (all []v1alpha1.ExternalEndpoint) {
	for _, e := range o.Endpoints {
		all = append(all, v1alpha1.ExternalEndpoint{Address: e.Address, Source: v1alpha1.EndpointSource(e.Source)})
	}
	return all
}

// withAddress adds whether the load balancer of the client Service has an address, if it is to have one. What is not seen, because the
// cluster hibernates or the Service is not as wanted yet, stays as it was.
func withAddress(all []metav1.Condition, c *v1alpha1.EtcdCluster, v cluster.View) []metav1.Condition {
	if c.ClientServiceType() != v1alpha1.ClientServiceLoadBalancer {
		meta.RemoveStatusCondition(&all, v1alpha1.ConditionAddressAssigned)
		return all
	}
	if !v.Outside.Read {
		return all
	}
	condition := metav1.Condition{
		Type: v1alpha1.ConditionAddressAssigned, Status: metav1.ConditionFalse, ObservedGeneration: c.Generation,
	}
	switch {
	case v.Outside.Assigned:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonAddressAssigned
		condition.Message = fmt.Sprintf("the load balancer of Service %s has an address: see status.externalEndpoints", c.ClientService())
	case v.Outside.Late:
		condition.Reason = v1alpha1.ReasonAddressMissing
		condition.Message = fmt.Sprintf("the Service %[1]s has had no address for 2m0s: see with kubectl describe service %[1]s what assigns "+
			"addresses to load balancers in this Kubernetes cluster, and what it says; clients within it are served", c.ClientService())
	default:
		condition.Reason = v1alpha1.ReasonAddressPending
		condition.Message = fmt.Sprintf("the Service %s waits for the address of a load balancer", c.ClientService())
	}
	meta.SetStatusCondition(&all, condition)
	return all
}
