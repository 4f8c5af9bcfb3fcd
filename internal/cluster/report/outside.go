// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// externalEndpoints are where clients outside of the Kubernetes cluster connect to.
func externalEndpoints(o cluster.Outside) (all []v1beta1.ExternalEndpoint) {
	for _, e := range o.Endpoints {
		all = append(all, v1beta1.ExternalEndpoint{Address: e.Address, Member: e.Member, Source: v1beta1.EndpointSource(e.Source)})
	}
	return all
}

// withAddress adds whether the load balancers of the client Service, and of those of single members, have an address, if they are to have
// one. What is not seen, because the cluster hibernates or the Service is not as wanted yet, stays as it was.
func withAddress(all []metav1.Condition, c *v1beta1.EtcdCluster, v cluster.View) []metav1.Condition {
	if c.ClientServiceType() != v1beta1.ClientServiceLoadBalancer && c.MemberServiceType() != v1beta1.ClientServiceLoadBalancer {
		meta.RemoveStatusCondition(&all, v1beta1.ConditionAddressAssigned)
		return all
	}
	if !v.Outside.Read {
		return all
	}
	condition := metav1.Condition{
		Type: v1beta1.ConditionAddressAssigned, Status: metav1.ConditionFalse, ObservedGeneration: c.Generation,
	}
	services := "Service " + strings.Join(v.Outside.Waiting, ", ")
	if len(v.Outside.Waiting) > 1 {
		services = "Services " + strings.Join(v.Outside.Waiting, ", ")
	}
	switch {
	case len(v.Outside.Waiting) == 0:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1beta1.ReasonAddressAssigned
		condition.Message = fmt.Sprintf("every load balancer of %s has an address: see status.externalEndpoints", balanced(c))
	case v.Outside.Late:
		condition.Reason = v1beta1.ReasonAddressMissing
		condition.Message = fmt.Sprintf("no address for 2m0s: %s; see with kubectl describe service %s what assigns addresses to load "+
			"balancers in this Kubernetes cluster, and what it says; clients within it are served", services, v.Outside.Waiting[0])
	default:
		condition.Reason = v1beta1.ReasonAddressPending
		condition.Message = "waiting for the address of a load balancer: " + services
	}
	meta.SetStatusCondition(&all, condition)
	return all
}

// balanced names the Services that are to have load balancers.
func balanced(c *v1beta1.EtcdCluster) string {
	switch {
	case c.MemberServiceType() != v1beta1.ClientServiceLoadBalancer:
		return "Service " + c.ClientService()
	case c.ClientServiceType() != v1beta1.ClientServiceLoadBalancer:
		return "the members' Services"
	default:
		return "Service " + c.ClientService() + " and of the members' Services"
	}
}
