// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func namesAndSizes() {
	var namespace string

	BeforeEach(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	It("faults 47, 48: sizes that make no cluster are refused with the reason", func() {
		for _, size := range []int32{-1, 2, 4, 9, 1000} {
			c := newCluster(namespace, "sized", func(spec *v1beta1.EtcdClusterSpec) { spec.Size = &size })
			Expect(api.Create(ctx, c)).To(MatchError(ContainSubstring("size must be 1, 3, 5 or 7")), "size %d", size)
		}
	})

	It("fault 46: size 0 is refused where it would lose the data", func() {
		c := newCluster(namespace, "sized")
		Expect(asWritten(c, `{"size": 0, "storage": {"ephemeral": {}}}`)).To(MatchError(ContainSubstring("size 0 needs volumes")))
	})

	It("fault 44: a size that is edited while the first members start takes effect after they have formed", Label("long"), func() {
		c := newCluster(namespace, "edited")
		Expect(api.Create(ctx, c)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(read(g, c).Status.Bootstrap).NotTo(BeNil()) }).Should(Succeed())
		resize(c, 5)
		Expect(now(c).Status.Bootstrap.Members).To(HaveLen(3))
		Expect(members(c)).To(HaveLen(5))
		discard(c)
	})

	It("a name by which another cluster has its Service for clients is refused until that one has gone", Label("long"), func() {
		first := create(newCluster(namespace, "a", oneMember))
		second := newCluster(namespace, "a-client", oneMember)
		Expect(api.Create(ctx, second)).To(Succeed())
		says(second, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "EtcdCluster a")
		Expect(claims(second)).To(BeEmpty())
		Expect(pods(second)).To(BeEmpty())
		isSettled(Default, first)
		remove(first)
		settles(second)
		discard(second)
	})

	It("fault 55: a name of 52 characters works from end to end, and one more is refused", func() {
		name := "n" + strings.Repeat("0123456789", 5) + "e"
		c := create(newCluster(namespace, name))
		put(c, "key", "value")
		victim, _ := aFollower(c)
		deletePod(c, victim)
		comesBack(c, victim)
		settles(c)
		Expect(value(c, "key")).To(Equal("value"))
		discard(c)
		Expect(api.Create(ctx, newCluster(namespace, name+"x"))).To(MatchError(ContainSubstring("at most 52 characters")))
	})
}
