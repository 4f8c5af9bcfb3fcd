// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// resting is a cluster that sleeps, or that nobody may touch.
func resting() {
	var c *v1beta1.EtcdCluster
	var id string
	var known, data map[string]string

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "resting"))
		data = fill(c)
		id, known = now(c).Status.ClusterID, members(c)
	})

	AfterEach(func() {
		Expect(now(c).Status.ClusterID).To(Equal(id))
		Expect(filled(c)).To(Equal(data))
	})

	It("fault 46: size 0 ends every Pod and keeps every volume, and it wakes as the same members with all data", func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](0) })).To(Succeed())
		sleeps(c, 3)
		begun := time.Now()
		resize(c, 3)
		AddReportEntry("awake after", time.Since(begun).String())
		Expect(members(c)).To(Equal(known))
	})

	It("fault 46: the scale subresource sends it to sleep too, and it wakes to another size", func() {
		scaleTo(c, 0)
		sleeps(c, 3)
		scale(c, 1)
		Expect(members(c)).To(HaveLen(1))
		Eventually(quarantined).WithArguments(c).Should(HaveLen(2))

		scaleTo(c, 0)
		sleeps(c, 3)
		scale(c, 3)
		Expect(members(c)).To(And(HaveLen(3), HaveKey("resting-3"), HaveKey("resting-4")))
		Eventually(quarantined).WithArguments(c).Should(HaveLen(2))
	})

	It("while it is paused nothing is changed or healed, and afterwards everything is", func() {
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Paused = true })).To(Succeed())
		says(c, v1beta1.ConditionProgressing, v1beta1.ReasonPaused, "spec.paused is true")
		victim, _ := aFollower(c)
		deletePod(c, victim)
		label := func(spec *v1beta1.EtcdClusterSpec) { spec.PodMetadata.Labels = map[string]string{"team": "storage"} }
		Expect(edit(c, label)).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonMemberDown, victim.Name)
		left := uids(c)
		delete(left, victim.Name)
		Eventually(podsOf).WithArguments(c.Namespace, ours(c)).Should(HaveLen(2))
		stays(10*time.Second, func(g Gomega) {
			g.Expect(podsOf(g, c.Namespace, ours(c))).To(HaveLen(2))
			g.Expect(untouched(g, c, left)).To(Equal(2))
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionProgressing)).To(HaveField("Reason", v1beta1.ReasonPaused))
		})

		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Paused = false })).To(Succeed())
		settles(c)
		Expect(pods(c)).To(And(HaveLen(3), HaveEach(HaveField("Labels", HaveKeyWithValue("team", "storage")))))
	})

	It("a cluster that is born asleep wakes, and one that is paused can be deleted", func() {
		born := newCluster(c.Namespace, "born", func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](0) })
		Expect(api.Create(ctx, born)).To(Succeed())
		sleeps(born, 0)
		resize(born, 1)
		Expect(members(born)).To(HaveKey("born-0"))
		Expect(edit(born, func(spec *v1beta1.EtcdClusterSpec) { spec.Paused = true })).To(Succeed())
		says(born, v1beta1.ConditionProgressing, v1beta1.ReasonPaused, "spec.paused is true")
		remove(born)
		Expect(belongings(Default, born)).To(BeEmpty())
	})
}
