// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// bothFamilies is a cluster with IPv6 first, and IPv4, in a Kubernetes cluster that has both. docs/operations/connect-from-outside.md.
func bothFamilies() {
	both := []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	var c *v1beta1.EtcdCluster

	service := func(name string) corev1.Service {
		GinkgoHelper()
		return surely(func(g Gomega) (found corev1.Service) {
			g.Expect(api.Get(ctx, nameIn(c, name), &found)).To(Succeed())
			return found
		})
	}
	names := func() []string {
		GinkgoHelper()
		var all []string
		for _, p := range pods(c) {
			all = append(all, p.Name)
		}
		return all
	}

	BeforeAll(func() {
		needsBothFamilies()
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "both", inBothFamilies))
		put(c, "key", "value")
	})

	It("fault 55: its Services lead to every member by addresses of both families, IPv6 first", func() {
		for _, p := range pods(c) {
			var addresses []string
			for _, ip := range p.Status.PodIPs {
				addresses = append(addresses, ip.IP)
			}
			Expect(families(addresses...)).To(ConsistOf(both), p.Name)
		}
		Expect(families(service(c.ClientService()).Spec.ClusterIPs...)).To(Equal(both))
		for _, name := range []string{c.ClientService(), c.HeadlessService()} {
			Expect(service(name).Spec.IPFamilies).To(Equal(both), name)
			for _, family := range both {
				Eventually(led).WithArguments(c, name, family).Should(ConsistOf(names()), "%s by %s", name, family)
			}
		}
	})

	It("fault 55: Pods reach it by its name, which has addresses of both", func() {
		Expect(runClient(c, "put", "by-name", "value")).To(Equal(corev1.PodSucceeded))
		Expect(value(c, "by-name")).To(Equal("value"))
	})

	It("fault 55: clients write and read by addresses of IPv6 that its certificates name: the Service's, a node's, single members'", func() {
		before := uids(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.ClientService = &v1beta1.ClientService{
				Type: v1beta1.ClientServiceNodePort, PerMember: &v1beta1.MemberService{Type: v1beta1.ClientServiceNodePort},
			}
		})).To(Succeed())
		var outside map[string]string
		Eventually(func(g Gomega) {
			outside = outsideByIPv6(g, c)
			g.Expect(outside).To(HaveLen(4), "one for all, and one for each of three members")
		}).Should(Succeed())
		for _, name := range names() {
			Expect(families(service(v1beta1.MemberServiceOf(name)).Spec.ClusterIPs...)).To(Equal(both), name)
		}
		node, _, err := net.SplitHostPort(outside[""])
		Expect(err).NotTo(HaveOccurred())
		inside := service(c.ClientService()).Spec.ClusterIPs[0]
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.TLS.ExtraSANs = []v1beta1.SAN{v1beta1.SAN(node), v1beta1.SAN(inside)}
		})).To(Succeed())
		outside["inside"] = net.JoinHostPort(inside, "2379")
		for who, address := range outside {
			etcd := byAddress(c, address)
			Eventually(puts(etcd, "by-"+who)).Should(Succeed(), address)
			Expect(reads(etcd, "by-"+who)).To(Equal("value"), address)
		}
		settles(c)
		Expect(uids(c)).To(Equal(before), "no Pod of etcd was replaced")
	})

	It("fault 55: a member that is killed comes back, and one that has lost its data is replaced", func() {
		victim, _ := aFollower(c)
		comesBack(c, deletePod(c, victim))
		settles(c)
		victim, _ = aFollower(c)
		loseVolume(c, victim.Name)
		settles(c)
		for _, family := range both {
			Eventually(led).WithArguments(c, c.ClientService(), family).Should(ConsistOf(names()), family)
		}
		Expect(value(c, "key")).To(Equal("value"))
	})

	It("fault 55: it has one family, and then both again, without a restart", func() {
		before := uids(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Network = &v1beta1.Network{IPFamilyPolicy: v1beta1.SingleStack, IPFamilies: []v1beta1.IPFamily{v1beta1.IPv6}}
		})).To(Succeed())
		Eventually(func() []corev1.IPFamily { return families(service(c.ClientService()).Spec.ClusterIPs...) }).
			Should(Equal([]corev1.IPFamily{corev1.IPv6Protocol}))
		Expect(edit(c, inBothFamilies)).To(Succeed())
		Eventually(func() []corev1.IPFamily { return families(service(c.ClientService()).Spec.ClusterIPs...) }).Should(Equal(both))
		settles(c)
		Expect(uids(c)).To(Equal(before), "no Pod of etcd was replaced")
	})
}
