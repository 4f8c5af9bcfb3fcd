// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/netip"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// needsBothFamilies skips what a Kubernetes cluster with one family of IP addresses cannot do.
func needsBothFamilies() {
	GinkgoHelper()
	both := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, GenerateName: "both-"},
		Spec: corev1.ServiceSpec{
			IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyRequireDualStack), Ports: []corev1.ServicePort{{Port: v1beta1.ClientPort}},
		},
	}
	if err := api.Create(ctx, both, client.DryRunAll); err != nil {
		Expect(err).To(MatchError(ContainSubstring("ipFamilies")))
		Skip("Services here have one family of IP addresses: make test-dual-stack starts a local cluster with both")
	}
}

// inBothFamilies has Services with IPv6 first, and IPv4.
func inBothFamilies(spec *v1beta1.EtcdClusterSpec) {
	spec.Network = &v1beta1.Network{IPFamilyPolicy: v1beta1.RequireDualStack, IPFamilies: []v1beta1.IPFamily{v1beta1.IPv6, v1beta1.IPv4}}
}

// families are those of addresses, in order.
func families(addresses ...string) []corev1.IPFamily {
	GinkgoHelper()
	var all []corev1.IPFamily
	for _, text := range addresses {
		address, err := netip.ParseAddr(text)
		Expect(err).NotTo(HaveOccurred())
		if address.Is4() {
			all = append(all, corev1.IPv4Protocol)
		} else {
			all = append(all, corev1.IPv6Protocol)
		}
	}
	return all
}

// led are the members to which a Service leads by addresses of a family.
func led(g Gomega, c *v1beta1.EtcdCluster, service string, family corev1.IPFamily) []string {
	var all discoveryv1.EndpointSliceList
	g.Expect(api.List(ctx, &all, client.InNamespace(c.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service})).To(Succeed())
	var names []string
	for _, slice := range all.Items {
		if string(slice.AddressType) != string(family) {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if endpoint.TargetRef != nil && ptr.Deref(endpoint.Conditions.Ready, false) {
				names = append(names, endpoint.TargetRef.Name)
			}
		}
	}
	return names
}

// outsideByIPv6 are the addresses of IPv6 by which clients outside of Kubernetes reach any member, or single ones, by member; that of any
// has no name.
func outsideByIPv6(g Gomega, c *v1beta1.EtcdCluster) map[string]string {
	all := map[string]string{}
	for _, e := range read(g, c).Status.ExternalEndpoints {
		if strings.HasPrefix(e.Address, "[") {
			all[e.Member] = e.Address
		}
	}
	return all
}

// reads is what a client reads of a key, empty if there is none.
func reads(etcd *clientv3.Client, key string) string {
	GinkgoHelper()
	return surely(func(g Gomega) string {
		limited, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		response, err := etcd.Get(limited, key)
		g.Expect(err).NotTo(HaveOccurred())
		if len(response.Kvs) == 0 {
			return ""
		}
		return string(response.Kvs[0].Value)
	})
}
