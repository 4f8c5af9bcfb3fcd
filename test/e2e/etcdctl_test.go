// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/witness"
)

// byHand is somebody who uses etcdctl while the operator restarts one member after
// the other, and stands in between two of them.
func byHand() {
	var c *v1beta1.EtcdCluster
	var o *operator
	var id string
	var before map[string]string
	flag := int64(10000)

	BeforeAll(func() {
		needsOwnOperator()
		namespace := newNamespace()
		o = startOperator(namespace)
		c = create(newCluster(namespace, "handled"))
		put(c, "key", "value")
		id = now(c).Status.ClusterID
	})

	BeforeEach(func() {
		settles(c)
		before = uids(c)
		flag++
	})

	AfterEach(func() {
		if c == nil {
			return // skipped
		}
		settles(c)
		Expect(now(c).Status.ClusterID).To(Equal(id))
		Expect(value(c, "key")).To(Equal("value"))
		Expect(members(c)).To(HaveLen(3))
		for _, p := range pods(c) {
			Expect(p.Spec.Containers[0].Args).To(ContainElement("--snapshot-count=" + strconv.FormatInt(flag, 10)))
		}
	})

	roll := func(spec *v1beta1.EtcdClusterSpec) { spec.Etcd.SnapshotCount = flag }

	// rollHalf stops the roll when one member has restarted, for as long as etcd
	// wants its members connected before it changes the membership.
	rollHalf := func() {
		GinkgoHelper()
		DeferCleanup(o.Heal)
		stopsAfter(o, 1)
		Expect(edit(c, roll)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(untouched(g, c, before)).To(Equal(2))
			all := podsOf(g, c.Namespace, ours(c))
			g.Expect(all).To(HaveLen(3))
			g.Expect(all).To(HaveEach(Satisfy(witness.IsReady)))
		}).Should(Succeed())
	}

	It("fault 42: leadership that somebody moves all the time does not disturb a roll", func() {
		who := identity(c)
		moving, stop := context.WithCancel(ctx)
		defer stop()
		var mover sync.WaitGroup
		moved := 0
		mover.Go(func() {
			for moving.Err() == nil {
				moved += moveLeader(c, who)
				time.Sleep(300 * time.Millisecond)
			}
		})
		known := members(c)
		busy(c, func() { // while nobody leads, nobody answers
			Expect(rolls(c, roll).Fewest()).To(BeNumerically(">=", 1), "Pods that were ready at once")
		})
		stop()
		mover.Wait()
		AddReportEntry("moved", moved)
		Expect(moved).To(BeNumerically(">", 5))
		Expect(members(c)).To(Equal(known))
	})

	It("fault 39: a member that somebody removes in the middle of a roll is replaced, and the roll goes on", func() {
		rollHalf()
		victim, _ := aFollower(c)
		removed, err := strconv.ParseUint(members(c)[victim.Name], 16, 64)
		Expect(err).NotTo(HaveOccurred())
		removeByHand(c, removed)
		o.Heal()
		settles(c)
		Expect(members(c)).NotTo(HaveKey(victim.Name))
	})

	It("fault 41: a learner that somebody adds in the middle of a roll halts it, is reported, and the roll goes on without it", func() {
		rollHalf()
		stranger := addByHand(c, "https://stranger.example:2380")
		o.Heal()
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "stranger.example")
		halted := uids(c)
		stays(aWhile, func(g Gomega) {
			g.Expect(uids(c)).To(Equal(halted))
			g.Expect(members(c)).To(HaveLen(4))
		})
		Expect(untouched(Default, c, before)).To(Equal(2))
		removeByHand(c, stranger)
	})

	It("fault 42: a learner of the operator that somebody promotes is a member like any other", func() {
		Expect(edit(c, roll)).To(Succeed())
		settles(c)
		known := members(c)
		setSize(c, 5)
		Eventually(func(g Gomega) { // the operator does it too, and may be faster
			g.Expect(promoteByHand(c) == 1 || hasVoters(g, c, 5)).To(BeTrue())
		}).WithPolling(5 * time.Millisecond).Should(Succeed())
		Eventually(func(g Gomega) { g.Expect(read(g, c).Status.Members).To(HaveLen(len(membersOf(g, c)))) }).Should(Succeed())
		setSize(c, 3)
		settles(c)
		Expect(members(c)).To(Equal(known))
	})
}
