// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"encoding/json"
	"maps"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// sans is a spec with these names.
func sans(names string) string { return "{tls: {extraSANs: [" + names + "]}}" }

const (
	svcRule   = "spec.tls.extraSANs[0]|must not be a name below .svc"
	sanRule   = "spec.tls.extraSANs[0]|an entry of tls.extraSANs must be a DNS name in lower case|or an IP address, without a scheme or a port"
	classRule = "spec.clientService.loadBalancerClass|cannot be changed, added or removed while the type is LoadBalancer"
)

var outsides = []refusal{
	{
		name: "another type of Service", bad: "{clientService: {type: ExternalName}}", good: "{clientService: {type: NodePort}}",
		says: `spec.clientService.type: Unsupported value: "ExternalName"`,
	},
	{
		name: "a class without a load balancer", bad: "{clientService: {type: NodePort, loadBalancerClass: a}}",
		good: "{clientService: {type: LoadBalancer, loadBalancerClass: a}}",
		says: "spec.clientService.loadBalancerClass|clientService.loadBalancerClass needs clientService.type LoadBalancer",
	},
	{
		name: "blocks without a load balancer", bad: "{clientService: {loadBalancerSourceRanges: [10.0.0.0/8]}}",
		good: "{clientService: {type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.0/8]}}",
		says: "spec.clientService.loadBalancerSourceRanges|needs clientService.type LoadBalancer; networkPolicy.clients limits clients",
	},
	{
		name: "a block that is none", bad: "{clientService: {type: LoadBalancer, loadBalancerSourceRanges: [10.0.0.1]}}",
		good: "{clientService: {type: LoadBalancer, loadBalancerSourceRanges: ['2001:db8::/64']}}",
		says: "spec.clientService.loadBalancerSourceRanges[0]|a block of addresses must be",
	},
	{
		name: "a policy for traffic that there is not", bad: "{clientService: {externalTrafficPolicy: Local}}",
		good: "{clientService: {type: NodePort, externalTrafficPolicy: Local}}",
		says: "spec.clientService.externalTrafficPolicy|needs clientService.type NodePort or LoadBalancer",
	},
	{
		name: "a port of nodes within", bad: "{clientService: {type: ClusterIP, nodePort: 30001}}",
		good: "{clientService: {type: LoadBalancer, nodePort: 30001}}",
		says: "spec.clientService.nodePort|needs clientService.type NodePort or LoadBalancer",
	},
	{
		name: "no port", bad: "{clientService: {type: NodePort, nodePort: 65536}}", good: "{clientService: {type: NodePort, nodePort: 30001}}",
		says: "spec.clientService.nodePort|less than or equal to 65535",
	},
	{
		name: "a class that is none", bad: "{clientService: {type: LoadBalancer, loadBalancerClass: 'a b'}}",
		good: "{clientService: {type: LoadBalancer, loadBalancerClass: example.com/a}}",
		says: "spec.clientService.loadBalancerClass|must be a name as Kubernetes wants it",
	},
	{
		name: "another class", from: "{clientService: {type: LoadBalancer, loadBalancerClass: a}}",
		bad:  "{clientService: {type: LoadBalancer, loadBalancerClass: b}}",
		good: "{clientService: {type: LoadBalancer, loadBalancerClass: a, nodePort: 30001}}", says: classRule,
	},
	{
		name: "a class later", from: "{clientService: {type: LoadBalancer}}", bad: "{clientService: {type: LoadBalancer, loadBalancerClass: b}}",
		good: "{clientService: {type: NodePort}}", says: classRule,
	},
	{
		name: "a class no more", from: "{clientService: {type: LoadBalancer, loadBalancerClass: a}}",
		bad: "{clientService: {type: LoadBalancer}}", good: "{clientService: {type: ClusterIP}}", says: classRule,
	},
	{
		name: "annotation of the operator on the Service", bad: "{clientService: {annotations: {etcd-operator.dev/settings: a}}}",
		good: "{clientService: {annotations: {external-dns.alpha.kubernetes.io/hostname: etcd.example.com}}}",
		says: "spec.clientService.annotations|must not begin with etcd-operator.dev/",
	},
	{
		name: "annotation that cannot be on the Service", bad: "{clientService: {annotations: {'a b': c}}}",
		good: "{clientService: {annotations: {a: 'b c'}}}", says: "spec.clientService.annotations|must have keys as Kubernetes wants them",
	},
	{
		name: "label of the operator on the Service", bad: "{clientService: {labels: {app.kubernetes.io/component: a}}}",
		good: "{clientService: {labels: {pool: a}}}",
		says: "spec.clientService.labels|must not begin with etcd-operator.dev/ or app.kubernetes.io/",
	},
	{name: "a URL for a name", bad: sans("'https://etcd.example.com'"), good: sans("etcd.example.com"), says: sanRule},
	{name: "a port at a name", bad: sans("'etcd.example.com:2379'"), good: sans("'*.etcd.example.com'"), says: sanRule},
	{name: "a name in capitals", bad: sans("Etcd.example.com"), good: sans("etcd"), says: sanRule},
	{name: "a name with a dot at its end", bad: sans("etcd.example.com."), good: sans("xn--etcd-9za.example.com"), says: sanRule},
	{name: "a wildcard within", bad: sans("'a.*.example.com'"), good: sans("'*.a.example.com'"), says: sanRule},
	{name: "an address that cannot be", bad: sans("10.0.0.256"), good: sans("10.0.0.255"), says: sanRule},
	{name: "a block for an address", bad: sans("10.0.0.0/8"), good: sans("10.0.0.0"), says: sanRule},
	{name: "an address with a hole too many", bad: sans("'2001::db8::7'"), good: sans("'2001:db8::7'"), says: sanRule},
	{name: "nothing but colons", bad: sans("':::'"), good: sans("'::'"), says: sanRule},
	{name: "an address in brackets", bad: sans("'[2001:db8::7]'"), good: sans("'2001:DB8:0:0:0:0:0:7'"), says: sanRule},
	{name: "an empty name", bad: sans("''"), good: sans(""), says: "spec.tls.extraSANs[0]"},
	{name: "a name of another cluster's clients", bad: sans("client.b.default.svc"), good: sans("client.b.default"), says: svcRule},
	{name: "a name of another cluster", bad: sans("b-client.default.svc.cluster.local"), good: sans("svc.example.com"), says: svcRule},
	{name: "names of all members of another cluster", bad: sans("'*.b.default.svc'"), good: sans("'*.b.default.example'"), says: svcRule},
	{name: "a name that is there twice", bad: sans("a, a"), good: sans("a, b"), says: "spec.tls.extraSANs[1]: Duplicate value"},
	{
		name: "names without TLS", bad: "{tls: {mode: Disabled, extraSANs: [a]}}", good: "{tls: {mode: Disabled}}",
		says: "spec.tls.extraSANs|tls.extraSANs needs tls.mode Enabled",
	},
	{
		name: "names for certificates of others",
		bad:  "{tls: {extraSANs: [a], secretRefs: {server: {name: a}, peer: {name: b}, operator: {name: c}}}}",
		good: "{tls: {extraSANs: [a], issuerRef: {name: a}}}",
		says: "spec.tls.extraSANs|with tls.secretRefs have whoever issues the certificate of server add the names",
	},
}

// TestAddressesAreParsed: what counts as an address for the API server is one for Go, too, which the certificate is made by; and the
// other way round.
func TestAddressesAreParsed(t *testing.T) {
	for _, address := range []string{
		"::", "::1", "1::", "1:2:3:4:5:6:7:8", "1::8", "1:2::7:8", "1::4:5:6:7:8", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3::8", "ffff::",
		"1:2:3:4:5:6::8", "1:2:3:4:5::7:8", "1:2:3::6:7:8", "fe80::abcd:EF01",
	} {
		if net.ParseIP(address) == nil {
			t.Fatal(address)
		}
		wantAccepted(t, tryCreate(t, "addresses", sans("'"+address+"'")), address)
	}
	for _, text := range []string{
		"1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:::2", "12345::", "g::", "1:2:3:4:5:6:7:8::", ":1", "fe80::1%eth0", "1.2.3", "01.2.3.4",
	} {
		if net.ParseIP(text) != nil {
			t.Fatal(text)
		}
		wantRefused(t, tryCreate(t, "addresses", sans("'"+text+"'")), text, "an entry of tls.extraSANs must be")
	}
}

// TestSettingsOfTheClientService: Kubernetes takes each change of them by server-side apply, also from every type to every other. What
// the spec has no more is gone then, and what others have added stays.
func TestSettingsOfTheClientService(t *testing.T) {
	c := create(t, "settings", "{}")
	port := int32(30000) // of those that Kubernetes gives to no other Service by itself, 30000 to 30085
	apply := func(asked *v1beta1.ClientService) *corev1.Service {
		t.Helper()
		c.Spec.ClientService = asked
		for {
			wanted := specs.ClientService(c)
			wanted.OwnerReferences = nil
			text, err := json.Marshal(wanted)
			if err != nil {
				t.Fatal(err)
			}
			way := client.RawPatch(types.ApplyPatchType, text)
			err = server.Patch(t.Context(), wanted, way, client.FieldOwner(v1beta1.FieldOwner), client.ForceOwnership)
			if err == nil {
				return wanted
			}
			// The port may count as taken by what the Service was before, until the server has looked again minutes later.
			if !strings.Contains(err.Error(), "already allocated") || asked.NodePort > 30085 {
				t.Fatalf("%+v: %v", asked, err)
			}
			port++
			asked.NodePort = port
		}
	}
	full := func(kind v1beta1.ClientServiceType) *v1beta1.ClientService {
		asked := &v1beta1.ClientService{
			Type: kind, Annotations: map[string]string{"ours": "a"}, Labels: map[string]v1beta1.LabelValue{"pool": "a"},
		}
		if kind != v1beta1.ClientServiceClusterIP {
			asked.ExternalTrafficPolicy, asked.NodePort = "Local", port
		}
		if kind == v1beta1.ClientServiceLoadBalancer {
			asked.LoadBalancerClass, asked.LoadBalancerSourceRanges = "example.com/a", []v1beta1.CIDR{"10.0.0.0/8"}
		}
		return asked
	}
	service := apply(nil)
	service.Annotations = map[string]string{"others": "b"}
	if err := server.Update(t.Context(), service, client.FieldOwner("others")); err != nil {
		t.Fatal(err)
	}
	kinds := []v1beta1.ClientServiceType{v1beta1.ClientServiceClusterIP, v1beta1.ClientServiceNodePort, v1beta1.ClientServiceLoadBalancer}
	for _, from := range kinds {
		for _, to := range kinds {
			apply(full(from))
			s := apply(full(to))
			if string(s.Spec.Type) != string(to) || s.Annotations["ours"] != "a" || s.Annotations["others"] != "b" || s.Labels["pool"] != "a" {
				t.Errorf("%s to %s: %+v", from, to, s)
			}
			if isBalanced := to == v1beta1.ClientServiceLoadBalancer; (s.Spec.LoadBalancerClass != nil) != isBalanced ||
				(len(s.Spec.LoadBalancerSourceRanges) > 0) != isBalanced {
				t.Errorf("%s to %s: %+v", from, to, s.Spec)
			}
			apply(&v1beta1.ClientService{Type: v1beta1.ClientServiceClusterIP})
		}
	}
	apply(full(v1beta1.ClientServiceLoadBalancer))
	s := apply(nil)
	if !maps.Equal(s.Annotations, map[string]string{"others": "b"}) || s.Labels["pool"] != "" || s.Spec.Type != corev1.ServiceTypeClusterIP ||
		s.Spec.ExternalTrafficPolicy != "" || s.Spec.Ports[0].NodePort != 0 || s.Spec.LoadBalancerSourceRanges != nil {
		t.Errorf("after all of it: %+v", s)
	}
}
