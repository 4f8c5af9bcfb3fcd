// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"slices"
	"testing"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestServerNames: each name of a Service with and without the domain of the Kubernetes cluster, and once each what the spec names and
// the client Service has outside. The addresses of nodes are not the Service's own.
func TestServerNames(t *testing.T) {
	c := example()
	c.Spec.TLS.ExtraSANs = []v1beta1.SAN{"etcd.example.com", "2001:DB8::7", "localhost", "203.0.113.7"}
	c.Status.ExternalEndpoints = []v1beta1.ExternalEndpoint{
		{Address: "203.0.113.7:2379", Source: v1beta1.FromLoadBalancer},
		{Address: "lb.example.net:2379", Source: v1beta1.FromLoadBalancer},
		{Address: "[2001:db8::8]:2379", Source: v1beta1.FromExternalIP},
		{Address: "192.0.2.1:30001", Source: v1beta1.FromNode},
	}
	for domain, used := range map[string]string{"": "cluster.local", "corp.example": "corp.example"} {
		names, addresses := specs.ServerNames(c, domain)
		wantNames := []string{
			"*.example.databases.svc", "*.example.databases.svc." + used, "example-client", "example-client.databases",
			"example-client.databases.svc", "example-client.databases.svc." + used, "localhost", "etcd.example.com", "lb.example.net",
		}
		wantAddresses := []string{"127.0.0.1", "::1", "2001:db8::7", "203.0.113.7", "2001:db8::8"}
		if !slices.Equal(names, wantNames) || !slices.Equal(addresses, wantAddresses) {
			t.Errorf("domain %q:\n%v\n%v", domain, names, addresses)
		}
	}
}

// TestServiceKnowsItsSettings: what the Service was applied with differs for each spec, and a Service that nothing was asked for says
// nothing.
func TestServiceKnowsItsSettings(t *testing.T) {
	of := func(c *v1beta1.EtcdCluster) string {
		return specs.ClientService(c).Annotations[v1beta1.AnnotationSettings]
	}
	without := func(s *v1beta1.EtcdClusterSpec) { outside(s); s.ClientService.Annotations = nil }
	all := []string{of(example()), of(with(outside)), of(with(without))}
	if all[0] != "" || all[1] == "" || all[1] == all[2] {
		t.Errorf("settings are %q", all)
	}
}
