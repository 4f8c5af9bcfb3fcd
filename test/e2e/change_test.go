// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func change() {
	var namespace string
	var c *v1beta1.EtcdCluster

	BeforeAll(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	It("scales 1 to 3 to 1 through the scale subresource and keeps the data", Label("gate"), func() {
		c = create(newCluster(namespace, "scaled", func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		put(c, "key", "value")
		w := startWriter(c)
		scale(c, 3)
		Expect(members(c)).To(And(HaveLen(3), HaveKey("scaled-0"), HaveKey("scaled-1"), HaveKey("scaled-2")))
		Expect(w.end().failed).To(BeEmpty())
		scale(c, 1)
		Expect(members(c)).To(HaveLen(1))
		Expect(value(c, "key")).To(Equal("value"))
		Expect(claims(c)).To(HaveLen(3), "volumes of removed members are kept aside")
		scale(c, 3)
		Expect(members(c)).To(And(HaveLen(3), HaveKey("scaled-3"), HaveKey("scaled-4")), "names are never used twice")
		discard(c)
	})

	It("rolls 3.5.35 to 3.6.16 one member at a time and keeps the data", func() {
		c = create(newCluster(namespace, "rolled", func(spec *v1beta1.EtcdClusterSpec) { spec.Version = "3.5.35" }))
		Expect(now(c).Status.Version).To(Equal("3.5.35"))
		put(c, "key", "old")
		known := members(c)
		rollsCarefully(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Version = "3.6.16" })
		Expect(now(c).Status.Version).To(Equal("3.6.16"))
		Expect(value(c, "key")).To(Equal("old"))
		Expect(members(c)).To(Equal(known))
	})

	It("rolls a label one member at a time", func() {
		rollsCarefully(c, func(spec *v1beta1.EtcdClusterSpec) { spec.PodMetadata.Labels = map[string]string{"team": "storage"} })
		for _, p := range pods(c) {
			Expect(p.Labels).To(HaveKeyWithValue("team", "storage"))
		}
	})

	It("grows volumes while they are in use", func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Storage.Size.Set(320 << 20) })).To(Succeed())
		Eventually(func(g Gomega) {
			for _, claim := range claimsOf(g, c) {
				g.Expect(claim.Status.Capacity.Storage().Value()).To(BeNumerically(">=", 320<<20))
			}
		}).Should(Succeed())
		settles(c)
		Expect(value(c, "key")).To(Equal("old"))
	})
}
