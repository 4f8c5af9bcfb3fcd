// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func ephemeral() {
	It("replaces a member whose Pod was deleted by a new one, and keeps the data", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "memory", func(spec *v1beta1.EtcdClusterSpec) {
			spec.Storage = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{}}
		}))
		put(c, "key", "value")
		known := members(c)
		victim := pod(c, "memory-1")
		Expect(api.Delete(ctx, &victim)).To(Succeed())
		Eventually(membersOf).WithArguments(c).Should(HaveKey("memory-3"))
		settles(c)
		after := members(c)
		Expect(after).To(And(HaveLen(3), HaveKeyWithValue("memory-0", known["memory-0"]), Not(HaveKey("memory-1"))))
		Expect(value(c, "key")).To(Equal("value"))
		Expect(claims(c)).To(BeEmpty())
	})

	It("goes a minor version down in its Pods, and none for which it would need new ones", Label("long"), func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "memory", ofVersion("3.7.3"), func(spec *v1beta1.EtcdClusterSpec) {
			spec.Storage = v1beta1.Storage{Ephemeral: &v1beta1.Ephemeral{}}
		}))
		put(c, "key", "value")
		known, before := members(c), uids(c)
		Expect(edit(c, ofVersion("3.6.16"))).To(Succeed())
		settles(c)
		Expect(running(c)).To(HaveEach("3.6.16"))
		Expect(edit(c, ofVersion("3.5.35"))).To(Succeed())
		says(c, v1beta1.ConditionProgressing, v1beta1.ReasonRefused, "etcd lets no new member join while it goes down: set spec.version back")
		Expect(edit(c, ofVersion("3.6.16"))).To(Succeed())
		settles(c)
		Expect(uids(c)).To(Equal(before))
		Expect(members(c)).To(Equal(known))
		Expect(value(c, "key")).To(Equal("value"))
	})
}
