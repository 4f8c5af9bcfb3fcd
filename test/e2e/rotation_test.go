// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func rotations() {
	var namespace string

	BeforeEach(func() {
		needsService()
		namespace = newNamespace()
	})

	It("fault 62: authorities are rotated on request, and no client notices", Label("gate"), func() {
		startOperator(namespace)
		c := create(newCluster(namespace, "rotated"))
		signed, known := signers(c), members(c)
		w := startMounted(c)
		watched := callWitness(c)
		requestRotation(c, "first")
		isRotated(c, signed, "client", "peer")
		tells(c, "AuthorityIntroduced", "AuthoritySwitched", "AuthorityDropped")
		watched.Dismiss()
		watched.KeptServing(3)
		Expect(members(c)).To(Equal(known))
		Expect(w.end().failed).To(BeEmpty())
		AddReportEntry("longest write", w.longest.String())
	})

	It("fault 62: one authority is rotated alone, and no client notices", func() {
		startOperator(namespace)
		c := create(newCluster(namespace, "alone"))
		signed := signers(c)
		w := startMounted(c)
		requestRotation(c, "peer:first")
		isRotated(c, signed, "peer")
		Expect(signers(c)).To(HaveKeyWithValue("client", signed["client"]))
		Expect(w.end().failed).To(BeEmpty())
	})

	It("fault 62: an operator that dies at each write of a rotation finishes it", func() {
		needsOwnOperator()
		o := startOperator(namespace)
		c := create(newCluster(namespace, "halfway"))
		signed := signers(c)
		w := startMounted(c)
		diesAfterOne := func() <-chan struct{} {
			left := 1
			return diesAt(o, "PATCH secrets", func() bool { left--; return left < 0 })
		}
		died := diesAfterOne()
		requestRotation(c, "first")
		for range 9 { // of a dozen: two authorities and two Secrets that are mounted, three times
			Eventually(died).WithTimeout(rotationTakes).Should(BeClosed())
			o.restart()
			died = diesAfterOne()
		}
		o.Heal()
		isRotated(c, signed, "client", "peer")
		Expect(w.end().failed).To(BeEmpty())
	})

	It("fault 61: authorities that live for half an hour go through generations under load, and certificates through more", func() {
		startOperator(namespace)
		c := create(newCluster(namespace, "mortal", shortLived))
		w := startMounted(c)
		var leaf corev1.Secret
		key := client.ObjectKey{Namespace: namespace, Name: c.ClientSecret()}
		certificates := map[string]bool{}
		for generation := range 2 {
			signed := signers(c)
			Eventually(func(g Gomega) {
				g.Expect(api.Get(ctx, key, &leaf)).To(Succeed())
				certificates[string(leaf.Data["tls.crt"])] = true
				after := signersNow(g, c)
				g.Expect(maps.Equal(after, signed)).To(BeFalse())
			}).WithTimeout(30*time.Minute).WithPolling(time.Second).Should(Succeed(), "generation %d", generation)
			isRotated(c, signed, "client", "peer")
		}
		Expect(len(certificates)).To(BeNumerically(">", 3))
		Expect(conditionOf(now(c), v1beta1.ConditionDegraded).Status).To(BeEquivalentTo("False"))
		Expect(w.end().failed).To(BeEmpty())
		AddReportEntry("longest write", w.longest.String())
	})

	It("fault 61: an authority that has ended is renewed when a person asks for it, and all data is there", func() {
		needsOwnOperator()
		o := startOperator(namespace)
		c := create(newCluster(namespace, "ended", shortLived))
		put(c, "before", "kept")
		o.kill()
		time.Sleep(31 * time.Minute)
		o.start()
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonAuthorityEnds, "etcd-operator.dev/rotate")
		requestRotation(c, "now")
		Eventually(func(g Gomega) { isSettled(g, c) }).WithTimeout(rotationTakes).Should(Succeed())
		Expect(value(c, "before")).To(Equal("kept"))
	})
}
