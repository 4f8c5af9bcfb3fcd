// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// takesUpAccess has a cluster take up, one by one, what says who gets in: NetworkPolicies, a user and its role, authentication, the
// revocation of a certificate. In the end authentication is off, and the user is gone.
func takesUpAccess(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.NetworkPolicy.Mode = v1beta1.NetworkPolicyEnabled })).To(Succeed())
	Eventually(func(g Gomega) {
		var policies networkingv1.NetworkPolicyList
		g.Expect(api.List(ctx, &policies, client.InNamespace(c.Namespace), ours(c))).To(Succeed())
		g.Expect(policies.Items).NotTo(BeEmpty())
	}).Should(Succeed())
	if isEnforced() {
		newVisitor(c.Namespace, "inside", nil).may(c, v1beta1.ClientPort)
		newVisitor(newNamespace(), "outside", nil).may(c)
	}

	newRole(c, "app", "/app/")
	u := newUser(c, "app", v1beta1.CertificateAuthentication, "app")
	defer usersGo(c.Namespace)
	isInPlace(u)
	switchAuth(c, true)
	leaked := secretNamed(c, u.Status.Binding.Name)
	mayWriteOnly(c, u, "/app/")

	setRevocations(c, serialOf(leaked))
	isRevoked(c, serialOf(leaked))
	isShutOut(c, leaked)
	Eventually(func() string { return serialOf(secretNamed(c, leaked.Name)) }).ShouldNot(Equal(serialOf(leaked)))
	Expect(puts(as(c, leaked.Name), "/app/again")()).To(Succeed())
	switchAuth(c, false)
}

// takesOtherAuthorities has a cluster rotate both of its authorities.
func takesOtherAuthorities(c *v1beta1.EtcdCluster) {
	GinkgoHelper()
	signed := signers(c)
	requestRotation(c, "today")
	isRotated(c, signed, "client", "peer")
}

// beginsWithKeys makes a cluster of one member in the namespace that begins with the keys of a ConfigMap, and deletes it.
func beginsWithKeys(namespace string) {
	GinkgoHelper()
	newConfigMap(namespace, "settings", map[string]string{"currency": "EUR"})
	c := create(newCluster(namespace, "filled", oneMember, beginsWith(theConfigMap("settings"))))
	Expect(hasImported(c).Keys).To(BeEquivalentTo(1))
	Expect(value(c, "/shop/currency")).To(Equal("EUR"))
	remove(c)
}

// trustsOthers makes clusters of one member in the namespace whose certificates, and those of a user, a person brings and, where it
// is installed, cert-manager issues. It deletes them.
func trustsOthers(namespace string) {
	GinkgoHelper()
	brought := newCluster(namespace, "brought", oneMember, fromSecrets)
	p := newPerson(brought)
	p.bringAll()
	knowsItsUser(brought, p.bringFor)
	remove(brought)
	if !hasCertManager() {
		return
	}
	issued := newCluster(namespace, "issued", oneMember, fromIssuer("Issuer", newAuthority(namespace, "Issuer")))
	knowsItsUser(issued, isInPlace)
	discard(issued) // cert-manager keeps its Secrets, which go with the namespace
	Eventually(func() []corev1.Pod { return pods(issued) }).Should(BeEmpty())
}

// knowsItsUser makes the cluster and for a while a user of it, who is given a certificate.
func knowsItsUser(c *v1beta1.EtcdCluster, isGiven func(*v1beta1.EtcdUser)) {
	GinkgoHelper()
	create(c)
	newRole(c, c.Name, "/app/")
	u := newUser(c, c.Name, v1beta1.CertificateAuthentication, c.Name)
	isGiven(u)
	switchAuth(c, true)
	mayWriteOnly(c, u, "/app/")
	usersGo(c.Namespace)
}
