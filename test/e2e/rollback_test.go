// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// failedUpgrades go to a version that has no image.
func failedUpgrades() {
	var c *v1beta1.EtcdCluster
	var known, data map[string]string

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "cautious"))
		data, known = fill(c), members(c)
	})

	AfterEach(func() {
		settles(c)
		Expect(members(c)).To(Equal(known), "the members are the same")
		Expect(filled(c)).To(Equal(data))
	})

	It("fault 51: with Halt, an exchange that fails stops at the first member, and setting it back heals", func() {
		before, count := uids(c), restarts(c)
		w := callWitness(c)
		Expect(edit(c, ofVersion("3.7.99"))).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonMemberBlocked, "its image "+image+"3.7.99 cannot be pulled")
		stays(5*time.Second, func(g Gomega) {
			g.Expect(unexchanged(g, c)).To(Equal(2), "members that were left alone")
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
			g.Expect(read(g, c).Status.Rollback).To(BeNil())
		})
		put(c, "during", "the halt")
		Expect(edit(c, ofVersion("3.6.16"))).To(Succeed())
		settles(c)
		w.Dismiss()
		Expect(w.Fewest()).To(Equal(2), "Pods that were ready at once")
		Expect(untouched(Default, c, before)).To(Equal(2))
		for name, uid := range uids(c) {
			if uid == before[name] {
				Expect(restarts(c)[name]).To(Equal(count[name]), name)
			}
		}
	})

	It("fault 51: while it has stopped there, a member whose Pod is deleted comes back with what it ran", func() {
		Expect(edit(c, ofVersion("3.7.99"))).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonMemberBlocked, "its image "+image+"3.7.99 cannot be pulled")
		put(c, "before", "the deletion")
		comesBack(c, deletePod(c, aReadyPod(c)))
		Eventually(func(g Gomega) {
			g.Expect(unexchanged(g, c)).To(Equal(2))
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
		}).Should(Succeed())
		Expect(value(c, "before")).To(Equal("the deletion"))
		Expect(edit(c, ofVersion("3.6.16"))).To(Succeed())
		settles(c)
	})

	It("fault 51: with RollBack, the first member goes back by itself, and the version is not tried again", func() {
		before := uids(c)
		w := callWitness(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Version, spec.Upgrade.OnFailure = "3.7.99", v1beta1.RollBack
		})).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "spec.version 3.7.99 was rolled back to 3.6.16")
		Eventually(func(g Gomega) {
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAvailable)).To(HaveField("Reason", v1beta1.ReasonHealthy))
			g.Expect(unexchanged(g, c)).To(Equal(3))
		}).Should(Succeed())
		Expect(now(c).Status.Rollback).To(HaveValue(And(
			HaveField("Refused", "3.7.99"), HaveField("Version", "3.6.16"),
			HaveField("Because", ContainSubstring("its image "+image+"3.7.99 cannot be pulled")))))
		tells(c, "RolledBack")
		w.Dismiss()
		Expect(w.Fewest()).To(Equal(2), "Pods that were ready at once")
		Expect(untouched(Default, c, before)).To(Equal(2))
		all := calmsDown(c)
		after := uids(c)
		stays(10*time.Second, func(g Gomega) {
			g.Expect(uids(c)).To(Equal(after))
			g.Expect(versions(c)).To(Equal(all), "nothing is written")
		})

		Expect(edit(c, ofVersion("3.7.3"))).To(Succeed())
		settles(c)
		Expect(now(c).Status.Rollback).To(BeNil())
		Expect(running(c)).To(HaveEach("3.7.3"))
		Expect(uids(c)).To(Equal(after), "images are exchanged in place")
	})

	It("fault 51: with RollBack, an image whose etcd does not start is taken back as well", func() {
		before, version := uids(c), now(c).Spec.Version
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Image, spec.Upgrade.OnFailure = image+"3.5.35", v1beta1.RollBack // which knows not all flags
		})).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(read(g, c).Status.Rollback).To(HaveValue(And(
				HaveField("Refused", version), HaveField("RefusedImage", image+"3.5.35"), HaveField("Version", version),
				HaveField("Because", ContainSubstring("its container ended: Error")))))
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAvailable)).To(HaveField("Reason", v1beta1.ReasonHealthy))
		}).Should(Succeed())
		Expect(untouched(Default, c, before)).To(Equal(2))
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Image = "" })).To(Succeed())
		settles(c)
		Expect(now(c).Status.Rollback).To(BeNil())
	})
}
