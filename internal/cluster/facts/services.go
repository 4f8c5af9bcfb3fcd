package facts

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// isService says whether a Service selects what is wanted and nothing less, has the wanted ports, in any order, and what was asked for
// is what was applied last. Ports and annotations that others have added stay.
func isService(wanted, found *corev1.Service) bool {
	want, have := wanted.Spec, found.Spec
	for _, port := range want.Ports {
		same := func(p corev1.ServicePort) bool {
			if port.NodePort == 0 {
				p.NodePort = 0 // Kubernetes has chosen it
			}
			return equality.Semantic.DeepDerivative(port, p)
		}
		if !slices.ContainsFunc(have.Ports, same) {
			return false
		}
	}
	ranges := want.LoadBalancerSourceRanges
	if len(ranges) > 0 && !slices.Equal(ranges, have.LoadBalancerSourceRanges) {
		return false
	}
	want.Ports = nil
	return equality.Semantic.DeepDerivative(want, have) && maps.Equal(want.Selector, have.Selector) &&
		isAsked(wanted, found) && includes(found.Annotations, wanted.Annotations)
}

// isAsked says whether a Service was applied as it is asked for now.
func isAsked(want, have metav1.Object) bool {
	return want.GetAnnotations()[v1alpha1.AnnotationSettings] == have.GetAnnotations()[v1alpha1.AnnotationSettings]
}

// includes says whether all of these are there, with the same values.
func includes(all, some map[string]string) bool {
	for name, value := range some {
		if found, has := all[name]; !has || found != value {
			return false
		}
	}
	return true
}

// hasOtherType says whether the type of a Service was changed on the Service, such as to LoadBalancer, and not in the spec.
func hasOtherType(want, have metav1.Object) bool {
	wanted, is := want.(*corev1.Service)
	found, has := have.(*corev1.Service)
	return is && has && found.Spec.Type != wanted.Spec.Type && isAsked(want, have)
}

// addressWithin is how long a load balancer may take to have an address before that is reported as missing.
const addressWithin = 2 * time.Minute

// outside records how clients outside of the Kubernetes cluster reach the client Service. While its type is another one than is wanted,
// what it has is not there to stay, and nothing is known.
func (j *builder) outside() {
	have, o := j.Services[j.c.ClientService()], &j.v.Outside
	wanted := j.c.ClientServiceType()
	if have == nil || !metav1.IsControlledBy(have, j.c) || string(have.Spec.Type) != string(wanted) {
		return
	}
	o.Read, o.Balanced = true, wanted == v1alpha1.ClientServiceLoadBalancer
	add := func(host string, number int32, source v1alpha1.EndpointSource) {
		address := specs.Address(host, number)
		known := func(e cluster.Endpoint) bool { return e.Address == address }
		if host != "" && !slices.ContainsFunc(o.Endpoints, known) {
			o.Endpoints = append(o.Endpoints, cluster.Endpoint{Address: address, Source: string(source)})
		}
	}
	if o.Balanced {
		for _, ingress := range have.Status.LoadBalancer.Ingress {
			add(ingress.IP, v1alpha1.ClientPort, v1alpha1.FromLoadBalancer)
			add(ingress.Hostname, v1alpha1.ClientPort, v1alpha1.FromLoadBalancer)
		}
		o.Assigned = len(o.Endpoints) > 0
		o.Late = !o.Assigned && j.isLate()
	}
	for _, address := range have.Spec.ExternalIPs {
		add(address, v1alpha1.ClientPort, v1alpha1.FromExternalIP)
	}
	if wanted == v1alpha1.ClientServiceNodePort {
		for _, pod := range j.pods {
			add(cmp.Or(externalIP(j.Nodes[pod.Spec.NodeName]), pod.Status.HostIP), nodePort(have), v1alpha1.FromNode)
		}
	}
	slices.SortFunc(o.Endpoints, func(a, b cluster.Endpoint) int { return strings.Compare(a.Address, b.Address) })
}

// isLate says whether the load balancer has been reported as without an address for long.
func (j *builder) isLate() bool {
	was := meta.FindStatusCondition(j.c.Status.Conditions, v1alpha1.ConditionAddressAssigned)
	return was != nil && was.Status == metav1.ConditionFalse && j.Now.Sub(was.LastTransitionTime.Time) >= addressWithin
}

// nodePort is the port of every node that leads to the port of the Service for clients.
func nodePort(service *corev1.Service) int32 {
	for _, port := range service.Spec.Ports {
		if port.Port == v1alpha1.ClientPort {
			return port.NodePort
		}
	}
	return 0
}

// externalIP is the address by which a node is reached from outside; empty if it has none, or is not known.
func externalIP(node *corev1.Node) string {
	if node == nil {
		return ""
	}
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeExternalIP {
			return address.Address
		}
	}
	return ""
}
