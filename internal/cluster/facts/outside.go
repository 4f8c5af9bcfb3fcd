// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// addressWithin is how long a load balancer may take to have an address before that is reported as missing.
const addressWithin = 2 * time.Minute

// outside records how clients outside of the Kubernetes cluster reach members. While the type of a Service is another one than is wanted,
// what it has is not there to stay, and nothing is known; of a member's, what was known stays.
func (j *builder) outside() {
	o := &j.v.Outside
	service := j.Services[j.c.ClientService()]
	if !j.isOfType(service, j.c.ClientServiceType()) {
		return
	}
	o.Read = true
	j.reach("", service)
	for _, m := range j.v.Members {
		if j.c.MemberServiceType() == "" || !cluster.IsListed(m) {
			continue
		}
		service := j.Services[v1beta1.MemberServiceOf(m.Name)]
		if j.isOfType(service, j.c.MemberServiceType()) {
			j.reach(m.Name, service)
			continue
		}
		for _, e := range j.c.Status.ExternalEndpoints {
			if e.Member == m.Name {
				o.Endpoints = append(o.Endpoints, cluster.Endpoint{Address: e.Address, Member: e.Member, Source: string(e.Source)})
			}
		}
		if j.c.MemberServiceType() == v1beta1.ClientServiceLoadBalancer {
			o.Balanced, o.Waiting = true, append(o.Waiting, v1beta1.MemberServiceOf(m.Name))
		}
	}
	o.Late = len(o.Waiting) > 0 && j.isLate()
	slices.SortFunc(o.Endpoints, func(a, b cluster.Endpoint) int {
		return strings.Compare(a.Member+" "+a.Address, b.Member+" "+b.Address)
	})
}

func (j *builder) isOfType(service *corev1.Service, kind v1beta1.ClientServiceType) bool {
	return service != nil && metav1.IsControlledBy(service, j.c) && string(service.Spec.Type) == string(kind)
}

// reach records the addresses of one Service, which leads to one member, or to any if that is empty.
func (j *builder) reach(member string, service *corev1.Service) {
	o := &j.v.Outside
	add := func(host string, number int32, source v1beta1.EndpointSource) {
		j.addEndpoint(host, number, member, source)
	}
	if service.Spec.Type == corev1.ServiceTypeLoadBalancer {
		before := len(o.Endpoints)
		for _, ingress := range service.Status.LoadBalancer.Ingress {
			add(ingress.IP, v1beta1.ClientPort, v1beta1.FromLoadBalancer)
			add(ingress.Hostname, v1beta1.ClientPort, v1beta1.FromLoadBalancer)
		}
		o.Balanced = true
		if len(o.Endpoints) == before {
			o.Waiting = append(o.Waiting, service.Name)
		}
	}
	for _, address := range service.Spec.ExternalIPs {
		add(address, v1beta1.ClientPort, v1beta1.FromExternalIP)
	}
	if service.Spec.Type != corev1.ServiceTypeNodePort {
		return
	}
	for name, pod := range j.pods {
		if member != "" && name != member {
			continue
		}
		for _, address := range nodeAddresses(j.Nodes[pod.Spec.NodeName], pod, service.Spec.IPFamilies) {
			add(address, nodePort(service), v1beta1.FromNode)
		}
	}
}

// addEndpoint records one address that leads to a member, unless the host is empty or the address is known.
func (j *builder) addEndpoint(host string, number int32, member string, source v1beta1.EndpointSource) {
	o := &j.v.Outside
	address := specs.Address(host, number)
	known := func(e cluster.Endpoint) bool { return e.Address == address && e.Member == member }
	if host != "" && !slices.ContainsFunc(o.Endpoints, known) {
		o.Endpoints = append(o.Endpoints, cluster.Endpoint{Address: address, Member: member, Source: string(source)})
	}
}

// isLate says whether load balancers have been reported as without an address for long.
func (j *builder) isLate() bool {
	was := meta.FindStatusCondition(j.c.Status.Conditions, v1beta1.ConditionAddressAssigned)
	return was != nil && was.Status == metav1.ConditionFalse && j.Now.Sub(was.LastTransitionTime.Time) >= addressWithin
}

// nodePort is the port of every node that leads to the port of the Service for clients.
func nodePort(service *corev1.Service) int32 {
	for _, port := range service.Spec.Ports {
		if port.Port == v1beta1.ClientPort {
			return port.NodePort
		}
	}
	return 0
}

// nodeAddresses are the addresses by which the node of a Pod is reached, one of each family that the Service has: that by which it is
// reached from outside, if it has one and is known, else its own.
func nodeAddresses(node *corev1.Node, pod *corev1.Pod, families []corev1.IPFamily) (all []string) {
	var known []string
	if node != nil {
		for _, address := range node.Status.Addresses {
			if address.Type == corev1.NodeExternalIP {
				known = append(known, address.Address)
			}
		}
	}
	for _, ip := range pod.Status.HostIPs {
		known = append(known, ip.IP)
	}
	known = append(known, pod.Status.HostIP)
	if len(families) == 0 {
		return known[:1]
	}
	for _, family := range families {
		i := slices.IndexFunc(known, func(address string) bool { return familyOf(address) == family })
		if i >= 0 {
			all = append(all, known[i])
		}
	}
	return all
}

// familyOf is the family of an address; empty if it is none.
func familyOf(text string) corev1.IPFamily {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return ""
	case address.Is4():
		return corev1.IPv4Protocol
	default:
		return corev1.IPv6Protocol
	}
}
