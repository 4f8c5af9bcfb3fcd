// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func quorumLoss() {
	var namespace string
	var o *operator

	BeforeEach(func() {
		namespace = newNamespace()
		o = startOperator(namespace)
	})

	It("fault 20: the loss of a majority is named, and accepted by name only", Label("gate"), func() {
		c := create(newCluster(namespace, "lost"))
		data, id := fill(c), now(c).Status.ClusterID
		latest := revision(c)
		accept := fmt.Sprintf("lost-0@%d", latest)
		lose(c, "lost-1", "lost-2")
		says(c, v1beta1.ConditionAvailable, v1beta1.ReasonQuorumLost, "0 of 3 voters are healthy, 2 are needed")
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, fmt.Sprintf("set spec.recovery.acceptDataLoss to %q", accept))
		Eventually(func(g Gomega) {
			now := read(g, c)
			g.Expect(conditionOf(now, v1beta1.ConditionAvailable).Status).To(Equal(metav1.ConditionFalse))
			g.Expect(now.Status.QuorumLoss).To(HaveValue(And(
				HaveField("Lost", []string{"lost-1", "lost-2"}), HaveField("Accept", accept),
				HaveField("Survivors", HaveExactElements(And(
					HaveField("Name", "lost-0"), HaveField("Revision", latest), HaveField("RaftIndex", BeNumerically(">", 200))))))))
		}).Should(Succeed())

		Eventually(func(g Gomega) { g.Expect(podsOf(g, c.Namespace, ours(c))).To(HaveLen(1)) }).Should(Succeed()) // they had ended before
		before := uids(c)
		for _, wrong := range []string{fmt.Sprintf("lost-1@%d", latest), "lost-0@1", accept + "0"} {
			Expect(edit(c, accepting(wrong))).To(Succeed())
			isSeen(c)
			stays(3*time.Second, func(g Gomega) {
				g.Expect(read(g, c).Status.Recovering).To(BeEmpty(), wrong)
				g.Expect(uids(c)).To(Equal(before), wrong)
			})
		}
		Expect(edit(c, accepting("lost-0"))).To(MatchError(ContainSubstring("must be what status.quorumLoss.accept says")))

		begun := time.Now()
		Expect(edit(c, accepting(accept))).To(Succeed())
		settles(c)
		AddReportEntry("recovered after", time.Since(begun).String())
		Expect(members(c)).To(And(HaveLen(3), HaveKey("lost-0"), HaveKey("lost-3"), HaveKey("lost-4")))
		Expect(filled(c)).To(Equal(data))
		Expect(now(c).Status).To(And(HaveField("ClusterID", id), HaveField("QuorumLoss", BeNil()), HaveField("Recovering", "")))
		tells(c, "QuorumRecovering", "NewClusterForced", "QuorumRecovered")
		put(c, "after", "recovery")
		discard(c)
	})

	It("fault 20: with Automatic, the cluster goes on from the best survivor, and the data of the other is set aside", Label("long"), func() {
		c := create(newCluster(namespace, "hasty", automatic, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](5) }))
		data, id := fill(c), now(c).Status.ClusterID
		begun := time.Now()
		lose(c, "hasty-0", "hasty-2", "hasty-4")
		var survivor string
		Eventually(func(g Gomega) {
			survivor = read(g, c).Status.Recovering
			g.Expect(survivor).NotTo(BeEmpty())
		}).Should(Succeed())
		if o.Proxy != nil {
			o.restart()
		}
		settles(c)
		AddReportEntry("recovered after", time.Since(begun).String())
		Expect(survivor).To(BeElementOf("hasty-1", "hasty-3"))
		Expect(members(c)).To(And(HaveLen(5), HaveKey(survivor), HaveKey("hasty-5"), HaveKey("hasty-6"), HaveKey("hasty-7"), HaveKey("hasty-8")))
		Expect(filled(c)).To(Equal(data))
		Expect(now(c).Status).To(And(HaveField("ClusterID", id), HaveField("QuorumLoss", BeNil())))
		other := map[string]string{"hasty-1": "hasty-3", "hasty-3": "hasty-1"}[survivor]
		Eventually(quarantined).WithArguments(c).Should(Equal([]string{other}))
		Expect(members(c)).NotTo(HaveKey(other))
		discard(c)
	})

	It("a majority that is only down is waited for, whatever is allowed", Label("long"), func() {
		c := create(newCluster(namespace, "down", automatic))
		data, id, known := fill(c), now(c).Status.ClusterID, members(c)
		w := callWitness(c)
		all := pods(c)
		for _, p := range all {
			deletePod(c, p)
		}
		for _, p := range all {
			comesBack(c, p) // fault 17: all Pods at once, their volumes kept
		}
		settles(c)

		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Scheduling.NodeSelector = map[string]string{"no": "node"} })).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonMemberBlocked, "cannot be scheduled")
		victim := aReadyPod(c)
		deletePod(c, victim)
		says(c, v1beta1.ConditionAvailable, v1beta1.ReasonQuorumLost, "2 are needed")
		time.Sleep(5 * time.Second)
		lose(c, victim)
		time.Sleep(5 * time.Second)
		says(c, v1beta1.ConditionAvailable, v1beta1.ReasonQuorumLost, "2 are needed")
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Scheduling.NodeSelector = nil })).To(Succeed())
		settles(c)
		w.Dismiss()
		for _, status := range w.Statuses() {
			Expect(status).To(And(HaveField("QuorumLoss", BeNil()), HaveField("Recovering", "")))
		}
		kept := members(c)
		Expect(kept).To(And(HaveLen(3), HaveKey("down-3")), "the one that was lost is replaced")
		delete(kept, "down-3")
		for name, member := range kept {
			Expect(known).To(HaveKeyWithValue(name, member))
		}
		Expect(filled(c)).To(Equal(data))
		Expect(now(c).Status.ClusterID).To(Equal(id))
		discard(c)
	})

	It("fault 21: when every volume is lost nothing is made up", func() {
		c := create(newCluster(namespace, "bare", automatic, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		lose(c, "bare-0")
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "no voter is left; restore the cluster from a backup")
		Eventually(func(g Gomega) { g.Expect(podsOf(g, c.Namespace, ours(c))).To(BeEmpty()) }).Should(Succeed())
		stays(5*time.Second, func(g Gomega) {
			g.Expect(podsOf(g, c.Namespace, ours(c))).To(BeEmpty())
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAvailable)).To(HaveField("Reason", v1beta1.ReasonQuorumLost))
		})
		discard(c)
	})
}
