// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// offering is a scene whose client Service is as the spec wants it: of this type.
func offering(t *testing.T, kind v1beta1.ClientServiceType) (*scene, *corev1.Service) {
	s := newScene(t)
	s.c.Spec.ClientService = &v1beta1.ClientService{Type: kind, Annotations: map[string]string{"a": "b"}}
	service := s.find("Service a-client").(*corev1.Service)
	*service = *specs.ClientService(s.c)
	service.Spec.Ports[0].NodePort = 30001
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n0"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.1.1.2"}}
	s.objects = append(s.objects, node)
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		s.pod(name).Status.HostIP = "10.1.1.1"
	}
	return s, service
}

func nothing(*scene, *corev1.Service) {}

// TestOutside: by which addresses clients outside of the Kubernetes cluster reach members, and what of a load balancer is said.
func TestOutside(t *testing.T) {
	without := func(ago time.Duration) func(*scene, *corev1.Service) {
		return func(s *scene, _ *corev1.Service) {
			s.c.Status.Conditions = []metav1.Condition{{
				Type: v1beta1.ConditionAddressAssigned, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
			}}
		}
	}
	balanced := func(_ *scene, service *corev1.Service) {
		service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{
			{Hostname: "lb.example.net"}, {IP: "203.0.113.7"}, {IP: "2001:db8::7"}, {IP: "203.0.113.7"},
		}
	}
	for name, test := range map[string]struct {
		kind  v1beta1.ClientServiceType
		spoil func(*scene, *corev1.Service)
		want  string
	}{
		"within": {v1beta1.ClientServiceClusterIP, nothing, "{true false [] false []}"},
		"external IPs": {v1beta1.ClientServiceClusterIP, func(_ *scene, service *corev1.Service) {
			service.Spec.ExternalIPs = []string{"198.51.100.7"}
		}, "{true false [] false [{198.51.100.7:2379  ExternalIP}]}"},
		"a node": {v1beta1.ClientServiceNodePort, nothing, "{true false [] false [{10.1.1.1:30001  Node}]}"},
		"a node with an address outside": {v1beta1.ClientServiceNodePort, func(s *scene, _ *corev1.Service) {
			node := s.find("Node n0").(*corev1.Node)
			node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "198.51.100.1"})
		}, "{true false [] false [{198.51.100.1:30001  Node}]}"},
		"nodes of which one has no Pod any more": {v1beta1.ClientServiceNodePort, func(s *scene, _ *corev1.Service) {
			s.pod("a-0").Status.HostIP, s.pod("a-1").Status.HostIP = "", "10.1.1.0"
		}, "{true false [] false [{10.1.1.0:30001  Node} {10.1.1.1:30001  Node}]}"},
		"a node that is not known": {
			v1beta1.ClientServiceNodePort, func(s *scene, _ *corev1.Service) { s.drop("Node n0") },
			"{true false [] false [{10.1.1.1:30001  Node}]}",
		},
		"a load balancer": {
			v1beta1.ClientServiceLoadBalancer, balanced,
			"{true true [] false [{203.0.113.7:2379  LoadBalancer} {[2001:db8::7]:2379  LoadBalancer} {lb.example.net:2379  LoadBalancer}]}",
		},
		"one without an address":              {v1beta1.ClientServiceLoadBalancer, nothing, "{true true [a-client] false []}"},
		"one without an address for a minute": {v1beta1.ClientServiceLoadBalancer, without(time.Minute), "{true true [a-client] false []}"},
		"one without an address for two":      {v1beta1.ClientServiceLoadBalancer, without(2 * time.Minute), "{true true [a-client] true []}"},
		"one that had none, and has one": {v1beta1.ClientServiceLoadBalancer, func(s *scene, service *corev1.Service) {
			without(time.Hour)(s, service)
			balanced(s, service)
		}, "{true true [] false [{203.0.113.7:2379  LoadBalancer} {[2001:db8::7]:2379  LoadBalancer} {lb.example.net:2379  LoadBalancer}]}"},
		"a node of both families": {v1beta1.ClientServiceNodePort, func(s *scene, service *corev1.Service) {
			service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
			for _, name := range []string{"a-0", "a-1", "a-2"} {
				s.pod(name).Status.HostIPs = []corev1.HostIP{{IP: "10.1.1.1"}, {IP: "2001:db8::1"}}
			}
		}, "{true false [] false [{10.1.1.1:30001  Node} {[2001:db8::1]:30001  Node}]}"},
		"a node without an address of the family": {v1beta1.ClientServiceNodePort, func(_ *scene, service *corev1.Service) {
			service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
		}, "{true false [] false []}"},
		"one that is not wanted": {v1beta1.ClientServiceClusterIP, func(s *scene, service *corev1.Service) {
			balanced(s, service)
			service.Spec.Type = corev1.ServiceTypeLoadBalancer
		}, "{false false [] false []}"},
		"of another owner": {v1beta1.ClientServiceLoadBalancer, func(s *scene, service *corev1.Service) {
			balanced(s, service)
			service.SetOwnerReferences(owner("EtcdCluster", "b", "u9"))
		}, "{false false [] false []}"},
		"missing": {v1beta1.ClientServiceLoadBalancer, func(s *scene, _ *corev1.Service) {
			s.drop("Service a-client")
		}, "{false false [] false []}"},
	} {
		t.Run(name, func(t *testing.T) {
			s, service := offering(t, test.kind)
			test.spoil(s, service)
			if got := fmt.Sprint(s.look().Outside); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestClientServiceIsMadeRight: what was asked for and is otherwise, and what is asked for no more. What others have added stays.
func TestClientServiceIsMadeRight(t *testing.T) {
	const wrong = "it is not as wanted"
	for name, test := range map[string]struct {
		spoil func(*scene, *corev1.Service)
		want  string // what is wrong with it
	}{
		"as wanted": {nothing, ""},
		"others have added": {func(_ *scene, service *corev1.Service) {
			service.Annotations["cloud.example.com/id"], service.Labels["cloud"] = "1", "x"
			service.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		}, ""},
		"an annotation that others have changed": {func(_ *scene, service *corev1.Service) { service.Annotations["a"] = "c" }, wrong},
		"an annotation that others have removed": {func(_ *scene, service *corev1.Service) { delete(service.Annotations, "a") }, wrong},
		"an annotation that is wanted no more":   {func(s *scene, _ *corev1.Service) { s.c.Spec.ClientService.Annotations = nil }, wrong},
		"nothing is asked for any more":          {func(s *scene, _ *corev1.Service) { s.c.Spec.ClientService = nil }, wrong},
		"nothing but an annotation is asked for no more": {func(s *scene, service *corev1.Service) {
			s.c.Spec.ClientService, service.Spec.Type = nil, corev1.ServiceTypeClusterIP
		}, wrong},
		"another type in the spec": {
			func(s *scene, _ *corev1.Service) { s.c.Spec.ClientService.Type = v1beta1.ClientServiceNodePort }, wrong,
		},
		"another type on the Service": {
			func(_ *scene, service *corev1.Service) { service.Spec.Type = corev1.ServiceTypeNodePort }, "its type was changed, and is set back",
		},
		"a port of nodes": {func(s *scene, service *corev1.Service) {
			s.c.Spec.ClientService.NodePort = 30007
			service.Annotations = specs.ClientService(s.c).Annotations
		}, wrong},
		"blocks that others have added to ours": {func(s *scene, service *corev1.Service) {
			s.c.Spec.ClientService.LoadBalancerSourceRanges = []v1beta1.CIDR{"10.0.0.0/8"}
			service.Annotations = specs.ClientService(s.c).Annotations
			service.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8", "0.0.0.0/0"}
		}, wrong},
	} {
		t.Run(name, func(t *testing.T) {
			s, service := offering(t, v1beta1.ClientServiceLoadBalancer)
			test.spoil(s, service)
			got := ""
			for _, object := range s.look().Objects {
				got += object.Why
			}
			if !strings.HasPrefix(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestCertificateIsAskedForAgain: of cert-manager, if the certificate is to have a name more, or one less.
func TestCertificateIsAskedForAgain(t *testing.T) {
	s := newScene(t)
	s.c.Spec.TLS.IssuerRef = &v1beta1.IssuerRef{Name: "corp"}
	s.c.Spec.TLS.ExtraSANs = []v1beta1.SAN{"etcd.example.com"}
	for _, certificate := range specs.Certificates(s.c, "") {
		s.objects = append(s.objects, certificate)
	}
	for _, test := range []struct {
		names []v1beta1.SAN
		want  string
	}{
		{[]v1beta1.SAN{"etcd.example.com"}, ""},
		{[]v1beta1.SAN{"etcd.example.com", "192.0.2.7"}, "Certificate a-server"},
		{nil, "Certificate a-server"},
	} {
		s.c.Spec.TLS.ExtraSANs = test.names
		got := ""
		for _, object := range s.look().Objects {
			if object.Kind == "Certificate" {
				got += object.String()
			}
		}
		if got != test.want {
			t.Errorf("with %v: %q, want %q", test.names, got, test.want)
		}
	}
}

// TestDomainIsNamed: members get another certificate where the operator is told of another domain.
func TestDomainIsNamed(t *testing.T) {
	for domain, want := range map[string]string{"": "[]", "cluster.local": "[]", "corp.example": "[Secret a-member-tls]"} {
		s := newScene(t)
		s.domain = domain
		if got := fmt.Sprint(s.look().Objects); got != want {
			t.Errorf("%q: %s", domain, got)
		}
	}
}
