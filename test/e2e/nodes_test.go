// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// onNodes needs three nodes, each a zone of its own: make cluster-up NODES=3.
func onNodes() {
	// patient waits for a silent node for longer than a spec lasts, hasty does not.
	var patient, hasty *v1beta1.EtcdCluster

	BeforeAll(func() {
		needsThreeNodes()
		namespace := newNamespace()
		startOperator(namespace)
		patient = newCluster(namespace, "patient", func(spec *v1beta1.EtcdClusterSpec) {
			spec.Scheduling.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule},
			}
		})
		hasty = newCluster(namespace, "hasty", func(spec *v1beta1.EtcdClusterSpec) {
			spec.Recovery.MemberTimeout = metav1.Duration{Duration: 10 * time.Second}
		})
		for _, c := range []*v1beta1.EtcdCluster{patient, hasty} {
			create(c)
			put(c, "key", "value")
		}
	})

	AfterEach(func() {
		for _, c := range []*v1beta1.EtcdCluster{patient, hasty} {
			if c == nil {
				continue // skipped
			}
			settles(c)
			Expect(value(c, "key")).To(Equal("value"))
		}
	})

	It("members are spread over zones, as the constraints say, and over nodes without any", func() {
		Expect(slices.Sorted(maps.Values(places(patient)))).To(Equal([]string{"node-1", "node-2", "node-3"}))
		Expect(slices.Sorted(maps.Values(places(hasty)))).To(Equal([]string{"node-1", "node-2", "node-3"}))
	})

	It("fault 23: every node is drained in turn, leadership leaves first, and clients write on", func() {
		known, on := members(patient), places(patient)
		watching := callWitness(patient)
		_, beats := busy(patient, func() {
			for _, member := range slices.Sorted(maps.Keys(on)) {
				node := on[member]
				By("draining " + node)
				cordon(node)
				Eventually(leaderOf).WithArguments(patient).ShouldNot(Equal(member), "leadership leaves the cordoned node")
				drain(node, patient)
				says(patient, v1beta1.ConditionAvailable, v1beta1.ReasonQuorumHealthy, "2 of 3")
				uncordon(node)
				settles(patient)
			}
		})
		watching.Dismiss()
		Expect(watching.Fewest()).To(Equal(2))
		Expect(members(patient)).To(Equal(known), "the members are the same")
		Expect(places(patient)).To(Equal(on), "a volume of this cluster stays on its node")
		Expect(beats.Gap).To(BeNumerically("<", outage))
		tells(patient, "LeaderMoved")
	})

	It("fault 22: a member on a silent node is waited for, and replaced elsewhere once spec.recovery.memberTimeout is over", func() {
		knownToPatient, knownToHasty, on := members(patient), members(hasty), places(hasty)
		parted := memberOn(hasty, "node-2")
		cut("node-2")

		By("waiting for Kubernetes to notice, and for hasty to go on without " + parted)
		Eventually(func(g Gomega) {
			left := maps.Clone(on)
			delete(left, parted)
			now := read(g, hasty)
			g.Expect(conditionOf(now, v1beta1.ConditionAvailable)).To(HaveField("Reason", v1beta1.ReasonHealthy))
			g.Expect(now.Status.ReadyMembers).To(BeEquivalentTo(3))
			g.Expect(voters(now)).NotTo(ContainElement(parted))
			g.Expect(voters(now)).To(ContainElements(slices.Sorted(maps.Keys(left))))
		}).WithTimeout(noticed).Should(Succeed())
		silent := memberOn(patient, "node-2")
		says(patient, v1beta1.ConditionDegraded, v1beta1.ReasonMemberDown, silent)
		stays(20*time.Second, func(g Gomega) { g.Expect(voters(read(g, patient))).To(ContainElement(silent)) })

		By("joining node-2 again")
		devcluster("node", "join", "node-2")
		settles(patient)
		settles(hasty)
		Expect(members(patient)).To(Equal(knownToPatient), "nobody was replaced")
		Expect(members(hasty)).NotTo(HaveKey(parted))
		Expect(members(hasty)).NotTo(ContainElement(knownToHasty[parted]))
		Expect(putAside(hasty)).To(HaveKey(parted), "its data is kept")
		Eventually(uidsOf).WithArguments(hasty).ShouldNot(HaveKey(parted), "its Pod goes")
	})

	It("fault 22: a smaller size takes the member on a silent node, and nobody waits for it to come back", func() {
		silent := memberOn(patient, "node-2")
		cut("node-2")
		Eventually(func(g Gomega) { g.Expect(isSilent(g, "node-2")).To(BeTrue()) }).WithTimeout(noticed).Should(Succeed())
		setSize(patient, 1)
		Eventually(func(g Gomega) {
			g.Expect(voters(read(g, patient))).To(And(HaveLen(1), Not(ContainElement(silent))))
		}).WithTimeout(patience).Should(Succeed())

		By("joining node-2 again")
		devcluster("node", "join", "node-2")
		settles(patient)
		resize(patient, 3)
	})

	It("fault 22: when so many nodes are silent that quorum is gone, nobody is replaced, however long it lasts", func() {
		before := map[*v1beta1.EtcdCluster]map[string]string{patient: members(patient), hasty: members(hasty)}
		cut("node-2")
		cut("node-3")
		for _, node := range []string{"node-2", "node-3"} {
			Eventually(func(g Gomega) { g.Expect(isSilent(g, node)).To(BeTrue()) }).WithTimeout(noticed).Should(Succeed())
		}
		stays(20*time.Second, func(g Gomega) { // twice the timeout
			for c, known := range before {
				g.Expect(voters(read(g, c))).To(ConsistOf(slices.Collect(maps.Keys(known))))
			}
		})
		says(patient, v1beta1.ConditionAvailable, v1beta1.ReasonQuorumLost, "")

		By("joining both again")
		devcluster("node", "join", "node-2")
		devcluster("node", "join", "node-3")
		for c, known := range before {
			settles(c)
			Expect(members(c)).To(Equal(known), "the members are the same")
		}
	})

	It("a member whose node is gone for good is replaced where the constraints allow it", func() {
		bereft := create(newCluster(hasty.Namespace, "bereft", func(spec *v1beta1.EtcdClusterSpec) { spec.Recovery = hasty.Spec.Recovery }))
		put(bereft, "key", "value")
		lost, stays := memberOn(bereft, "node-3"), members(patient)
		waits := memberOn(patient, "node-3")
		devcluster("node", "stop", "node-3")
		DeferCleanup(func() { devcluster("node", "start", "node-3") })
		Expect(api.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-3"}})).To(Succeed())
		Eventually(func(g Gomega) {
			isSettled(g, bereft)
			g.Expect(places(bereft)).NotTo(HaveKey(lost))
		}).WithTimeout(noticed).Should(Succeed())
		Expect(places(bereft)).NotTo(ContainElement("node-3"))
		Expect(putAside(bereft)).To(HaveKey(lost), "its volume is kept, whether it comes back or not")
		Expect(value(bereft, "key")).To(Equal("value"))
		says(patient, v1beta1.ConditionDegraded, v1beta1.ReasonMemberBlocked, waits)

		By("starting node-3 again")
		devcluster("node", "start", "node-3")
		settles(patient)
		Expect(members(patient)).To(Equal(stays), "the node is back with its volume")
	})
}
