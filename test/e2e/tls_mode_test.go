// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func turnsOfTLS() {
	var namespace string

	BeforeEach(func() {
		needsService()
		namespace = newNamespace()
	})

	It("is turned on and off, and no write fails of a client that knows both schemes", Label("gate"), func() {
		startOperator(namespace)
		c := create(newCluster(namespace, "bilingual", withoutTLS, open(5*time.Second)))
		known := members(c)
		w := startBilingual(c, "http")
		setTLS(c, v1beta1.TLSEnabled)
		isServedBy(c, v1beta1.TLSEnabled)
		tells(c, "TLSChanging", "PeerURLsUpdated", "TLSServingBoth", "TLSSwitched", "TLSWindowEnded", "TLSChanged")
		setTLS(c, v1beta1.TLSDisabled)
		isServedBy(c, v1beta1.TLSDisabled)
		w.end()
		Expect(members(now(c))).To(Equal(known))
	})

	It("fault 108: a member is lost while TLS is turned on", func() {
		startOperator(namespace)
		c := create(newCluster(namespace, "lost", withoutTLS, open(5*time.Second)))
		w := startBilingual(c, "http")
		setTLS(c, v1beta1.TLSEnabled)
		isIn(c, v1beta1.TLSDisabled, v1beta1.TLSBoth)
		lose(c, c.Name+"-2")
		isServedBy(c, v1beta1.TLSEnabled)
		Expect(members(now(c))).To(And(HaveLen(3), Not(HaveKey(c.Name+"-2"))))

		By("and off, with another one lost when clients are served by http again")
		setTLS(c, v1beta1.TLSDisabled)
		isIn(c, v1beta1.TLSDisabled, v1beta1.TLSAdvertised)
		lose(c, c.Name+"-1")
		isServedBy(c, v1beta1.TLSDisabled)
		Expect(members(now(c))).To(And(HaveLen(3), Not(HaveKey(c.Name+"-1"))))
		w.endAfterLosses()
	})

	It("fault 109: tls.mode is set back in every phase", func() {
		startOperator(namespace)
		c := create(newCluster(namespace, "undecided", open(0)))
		w := startBilingual(c, "https")
		for _, phase := range []v1beta1.TLSStatus{
			{Mode: v1beta1.TLSEnabled, Phase: v1beta1.TLSBoth},
			{Mode: v1beta1.TLSDisabled, Phase: v1beta1.TLSAdvertised},
		} {
			setTLS(c, v1beta1.TLSDisabled)
			isIn(c, phase.Mode, phase.Phase)
			setTLS(c, v1beta1.TLSEnabled)
			isServedBy(c, v1beta1.TLSEnabled)
		}
		w.end()
	})

	It("fault 110: the operator dies whenever it stops a member for TLS", func() {
		needsOwnOperator()
		o := startOperator(namespace)
		c := create(newCluster(namespace, "halted", withoutTLS, open(5*time.Second)))
		known := members(c)
		w := startBilingual(c, "http")
		diesAfterOne := func() <-chan struct{} {
			left := 1
			return diesAt(o, "DELETE pods", func() bool { left--; return left < 0 })
		}
		died := diesAfterOne()
		setTLS(c, v1beta1.TLSEnabled)
		for range 3 { // of six
			Eventually(died).Should(BeClosed())
			o.restart()
			died = diesAfterOne()
		}
		o.Heal()
		isServedBy(c, v1beta1.TLSEnabled)
		w.end()
		Expect(members(now(c))).To(Equal(known))
	})
}
