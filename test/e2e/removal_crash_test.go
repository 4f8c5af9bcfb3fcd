// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// halfway leaves an operator that dies in the middle of removing a member.
func halfway() {
	var o *operator
	var c *v1beta1.EtcdCluster

	BeforeAll(func() {
		needsOwnOperator()
		namespace := newNamespace()
		o = startOperator(namespace)
		c = create(newCluster(namespace, "halfway"))
		put(c, "key", "value")
	})

	for _, kind := range []string{"DELETE pods", "PATCH persistentvolumeclaims"} {
		It("fault 4: an operator that died after removing a member and before "+kind+
			" puts the volume aside later, and no member ever mounts it again", func() {
			resize(c, 3)
			died := diesAt(o, kind, func() bool {
				defer GinkgoRecover()
				return len(surely(func(g Gomega) []string { return notListed(g, c) })) > 0
			})
			Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) })).To(Succeed())
			Eventually(died).Should(BeClosed())
			gone := surely(func(g Gomega) []string { return notListed(g, c) })
			Expect(gone).NotTo(BeEmpty(), "volumes that the operator did not put aside")

			o.restart()
			settles(c)
			Eventually(notListed).WithArguments(c).Should(BeEmpty())
			aside := putAside(c)
			for _, name := range gone {
				Expect(aside).To(HaveKey(name))
			}
			resize(c, 3)
			Expect(putAside(c)).To(Equal(aside))
			for _, p := range pods(c) {
				Expect(aside).NotTo(HaveKey(p.Name))
			}
			Expect(value(c, "key")).To(Equal("value"))
		})
	}
}
