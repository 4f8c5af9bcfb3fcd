// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/x509"
	"encoding/pem"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// revocationTakes is how long a revocation may take: kubelets are waited for, and members restart once.
const revocationTakes = 8 * time.Minute

// serialOf is the serial number of the certificate in a Secret, as a spec has it.
func serialOf(secret *corev1.Secret) string {
	GinkgoHelper()
	block, _ := pem.Decode(secret.Data["tls.crt"])
	Expect(block).NotTo(BeNil())
	certificate, err := x509.ParseCertificate(block.Bytes)
	Expect(err).NotTo(HaveOccurred())
	return certificate.SerialNumber.Text(16)
}

// setRevocations has the spec name these certificates and no others.
func setRevocations(c *v1beta1.EtcdCluster, serials ...string) {
	GinkgoHelper()
	Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
		spec.TLS.Revocations = nil
		for _, serial := range serials {
			spec.TLS.Revocations = append(spec.TLS.Revocations, v1beta1.Revocation{Serial: serial, Reason: "e2e"})
		}
	})).To(Succeed())
}

// isRevoked waits until these certificates and no others are on the list that every member refuses, nothing is left to do, and each
// Pod has restarted for it.
func isRevoked(c *v1beta1.EtcdCluster, serials ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		told := read(g, c).Status.Revocations
		g.Expect(told).NotTo(BeNil())
		g.Expect(told.Phase).To(Equal(v1beta1.RevocationDone))
		g.Expect(told.Serials).To(ConsistOf(serials))
		isSettled(g, c)
		for _, p := range pods(c) {
			g.Expect(p.Annotations).To(HaveKeyWithValue(v1beta1.AnnotationRevokedAt, told.RevokedAt), p.Name)
		}
	}).WithTimeout(revocationTakes).WithPolling(time.Second).Should(Succeed())
}

// isShutOut says that no member takes what was in a Secret, each asked by a connection of its own.
func isShutOut(c *v1beta1.EtcdCluster, was *corev1.Secret) {
	GinkgoHelper()
	for _, p := range pods(c) {
		err := puts(holding(c, was, p), "shut-out")()
		Expect(err).To(HaveOccurred(), p.Name)
		Expect(err).NotTo(refuses(), "%s knows who it is", p.Name)
	}
}

// isLetIn waits until every member takes what was in a Secret.
func isLetIn(c *v1beta1.EtcdCluster, was *corev1.Secret) {
	GinkgoHelper()
	for _, p := range pods(c) {
		Eventually(func() error { return puts(holding(c, was, p), "let-in")() }).
			WithTimeout(2*refreshes).WithPolling(time.Second).Should(Succeed(), p.Name)
	}
}
