// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/tls"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func aCluster() {
	var c *v1beta1.EtcdCluster
	var o *operator

	BeforeAll(func() {
		namespace := newNamespace()
		o = startOperator(namespace)
		c = create(newCluster(namespace, "plain"))
	})

	It("is shown by kubectl get with its columns", Label("gate"), func() {
		table := asTable("etcdclusters", c)
		Expect(table.column("Name")).To(Equal("plain"))
		Expect(table.column("Size")).To(BeEquivalentTo(3))
		Expect(table.column("Ready")).To(BeEquivalentTo(3))
		Expect(table.column("Version")).To(Equal("3.6.16"))
		Expect(table.column("Status")).To(Equal("Healthy"))
		Expect(table.column("Age")).NotTo(BeEmpty())
	})

	It("has its Services, Secrets, disruption budget and volumes, and nothing else", Label("gate"), func() {
		Eventually(belongings).WithArguments(c).Should(ConsistOf(ofThree...))
	})

	It("runs under Pod Security restricted and gives Pods no service account token", Label("gate"), func() {
		for _, p := range pods(c) {
			Expect(p.Spec.AutomountServiceAccountToken).To(HaveValue(BeFalse()))
			for _, volume := range p.Spec.Volumes {
				Expect(volume.Projected).To(BeNil())
			}
		}
	})

	It("serves an application that mounts the client Secret", Label("gate"), func() {
		Eventually(servingClients).WithArguments(c).Should(HaveLen(3))
		Expect(runClient(c, "put", "greeting", "hello")).To(Equal(corev1.PodSucceeded))
		Expect(value(c, "greeting")).To(Equal("hello"))
	})

	It("refuses a client without a certificate, or with one of its own making", Label("gate"), func() {
		without := identity(c)
		without.Certificates = nil
		Expect(handshake(c, without)).NotTo(Succeed())
		foreign := identity(c)
		foreign.Certificates = []tls.Certificate{selfSigned()}
		Expect(handshake(c, foreign)).NotTo(Succeed())
		Expect(handshake(c, identity(c))).To(Succeed())
	})

	It("refuses TLS 1.2, of clients and of peers", Label("gate"), func() {
		old := identity(c)
		old.MaxVersion = tls.VersionTLS12
		Expect(handshake(c, old)).NotTo(Succeed())
		old.InsecureSkipVerify = true //nolint:gosec // what is refused is the version
		Expect(handshakeAt(c, "2380", old)).NotTo(Succeed())
	})

	It("causes no writes while it is idle", Label("gate"), func() {
		settles(c)
		Eventually(func(g Gomega) {
			before, ready := calmsDown(c), readySince(c)
			if o.Proxy != nil {
				o.Forget()
			}
			g.Consistently(func(g Gomega) {
				after, written := versions(c), []string(nil)
				if o.Proxy != nil {
					written = o.Written()
				}
				g.Expect(readySince(c)).To(Equal(ready), "a probe failed on a busy machine, so that the cluster was not idle: look again")
				Expect(after).To(Equal(before))
				Expect(written).To(BeEmpty())
			}).Should(Succeed())
		}).Should(Succeed())
	})

	It("fault 55: uses no name that depends on the domain of the Kubernetes cluster", Label("gate"), func() {
		for _, p := range pods(c) {
			Expect(p.Spec.Containers[0].Args).NotTo(ContainElement(ContainSubstring("cluster.local")))
		}
		Expect(now(c).Status.Endpoint).To(HaveSuffix(".svc:2379"))
	})
}
