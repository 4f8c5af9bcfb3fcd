// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// manyChanges come faster than they can be made.
func manyChanges() {
	var c *v1beta1.EtcdCluster

	BeforeAll(func() {
		needsService()
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "hurried"))
	})

	for _, change := range []struct {
		name     string
		to, back int32
		when     func(g Gomega) bool
	}{
		{"is raised and at once set back", 5, 3, func(Gomega) bool { return true }},
		{"is raised and set back when a learner has joined", 5, 3, func(g Gomega) bool { return len(membersOf(g, c)) == 4 }},
		{"is lowered and at once set back", 1, 3, func(Gomega) bool { return true }},
		{"is lowered and set back when a member is gone", 1, 3, func(g Gomega) bool { return len(membersOf(g, c)) == 2 }},
	} {
		It("fault 45: a size that "+change.name+" leaves no orphan", func() {
			id := now(c).Status.ClusterID
			busy(c, func() {
				setSize(c, change.to)
				Eventually(change.when).WithPolling(10 * time.Millisecond).Should(BeTrue())
				setSize(c, change.back)
				settles(c)
			})
			Expect(now(c).Status.ClusterID).To(Equal(id))
			Eventually(func(g Gomega) {
				listed := slices.Sorted(maps.Keys(membersOf(g, c)))
				g.Expect(inUse(g, c)).To(Equal(listed))
				g.Expect(slices.Sorted(maps.Keys(uidsOf(g, c)))).To(Equal(listed))
			}).Should(Succeed())
		})
	}

	It("fault 19: two of five volumes that are lost one after the other are replaced one at a time", func() {
		resize(c, 5)
		_, leader, _ := standing(c)
		known := members(c)
		victims := slices.Sorted(maps.Keys(known))[:2]
		AddReportEntry("victims", strings.Join(victims, ", ")+"; the leader is "+leader)
		busy(c, func() {
			loseVolume(c, victims[0])
			lose(c, victims[1])
			Eventually(func(g Gomega) {
				listed := membersOf(g, c)
				Expect(learners(listed)).To(BeNumerically("<=", 1), "learners at once: %v", listed)
				g.Expect(listed).To(And(HaveLen(5), Not(HaveKey(victims[0])), Not(HaveKey(victims[1]))))
				isSettled(g, c)
			}).Should(Succeed())
		})
		for name, member := range known {
			if !contains(victims, name) {
				Expect(members(c)).To(HaveKeyWithValue(name, member))
			}
		}
	})
}
