// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func revocations() {
	var namespace string

	BeforeEach(func() {
		needsService()
		namespace = newNamespace()
	})

	It("fault 82: the certificate of one user is revoked, its open connections are cut, and no other client notices", func() {
		startOperator(namespace)
		DeferCleanup(usersGo, namespace)
		c := create(newCluster(namespace, "leaky"))
		u := newUser(c, "app", v1beta1.CertificateAuthentication)
		isInPlace(u)
		leaked := secretNamed(c, u.Status.Binding.Name)
		Expect(u.Status.Serial).To(Equal(serialOf(leaked)))
		first := uids(c)
		var open []*clientv3.Client // one at each member
		for _, p := range pods(c) {
			open = append(open, holding(c, leaked, p))
			Expect(puts(open[len(open)-1], "before")()).To(Succeed())
		}
		w, watched := startMounted(c), callWitness(c)

		By("for the first time: members restart to read the list")
		etcd := kubectlEtcd(namespace)
		Expect(etcd(0, "revoke", "leaky", "--user", "app", "--wait", "--timeout", revocationTakes.String())).To(ContainSubstring("is revoked"))
		isRevoked(c, serialOf(leaked))
		for name, uid := range uids(c) {
			Expect(uid).NotTo(Equal(first[name]), name)
		}
		for _, client := range open {
			Expect(puts(client, "after")()).NotTo(Succeed())
		}
		isShutOut(c, leaked)
		tells(c, "CertificatesRevoked")
		watched.KeptServing(3)

		By("what the user mounts is another certificate")
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, keyOf(u), u)).To(Succeed())
			g.Expect(u.Status.Serial).To(Equal(serialOf(secretNamed(c, u.Status.Binding.Name))))
			g.Expect(u.Status.Serial).NotTo(Equal(serialOf(leaked)))
		}).Should(Succeed())
		Expect(puts(as(c, u.Status.Binding.Name), "again")()).To(Succeed())

		By("to take it off the list restarts nobody: etcd reads the list with each handshake")
		second := uids(c)
		setRevocations(c)
		isLetIn(c, leaked)
		isRevoked(c)
		Expect(uids(c)).To(Equal(second))

		By("for the second time: it is refused everywhere before the first member restarts")
		watched = callWitness(c)
		setRevocations(c, serialOf(leaked))
		Eventually(func() v1beta1.RevocationPhase {
			if told := now(c).Status.Revocations; told != nil {
				return told.Phase
			}
			return ""
		}).WithTimeout(revocationTakes).Should(Equal(v1beta1.RevocationRestarting))
		isShutOut(c, leaked)
		isRevoked(c, serialOf(leaked))
		for name, uid := range uids(c) {
			Expect(uid).NotTo(Equal(second[name]), name)
		}
		watched.KeptServing(3)
		Expect(w.end().failed).To(BeEmpty())
		AddReportEntry("longest write", w.longest.String())
	})

	It("fault 82: a cluster begins with a revocation in its spec, and later that of its own client is issued again", func() {
		startOperator(namespace)
		c := create(newCluster(namespace, "wary", func(spec *v1beta1.EtcdClusterSpec) {
			spec.TLS.Revocations = []v1beta1.Revocation{{Serial: "abc"}}
		}))
		first := uids(c)
		isRevoked(c, "abc")
		Expect(uids(c)).To(Equal(first))
		put(c, "key", "kept")

		leaked := secretNamed(c, c.ClientSecret())
		setRevocations(c, "abc", serialOf(leaked))
		isRevoked(c, "abc", serialOf(leaked))
		Expect(serialOf(secretNamed(c, c.ClientSecret()))).NotTo(Equal(serialOf(leaked)))
		isShutOut(c, leaked)
		Expect(value(c, "key")).To(Equal("kept"))
		settles(c)
	})
}
