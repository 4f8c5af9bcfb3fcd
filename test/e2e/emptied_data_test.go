// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// emptied is what becomes of members whose data directories are emptied while their Pods stay.
func emptied() {
	It("fault 20: two data directories that are emptied at once form nothing, and the loss is named", func() {
		if !isLocal() {
			Skip("writes to the members' volumes: on the local cluster only")
		}
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "bared"))
		data, id := fill(c), now(c).Status.ClusterID
		latest, known, count := revision(c), uids(c), restarts(c)
		// The third is away for as long as they start again: else they ask it, and end.
		killAfter(c, "bared-0", func() {
			killAfter(c, "bared-1", func() {
				killAfter(c, "bared-2", func() { Expect(os.RemoveAll(dataOf(c, "bared-2"))).To(Succeed()) })
				Expect(os.RemoveAll(dataOf(c, "bared-1"))).To(Succeed())
			})
			Eventually(func(g Gomega) {
				restarted := restartsOf(g, c)
				g.Expect(restarted["bared-1"]).To(BeNumerically(">", count["bared-1"]))
				g.Expect(restarted["bared-2"]).To(BeNumerically(">", count["bared-2"]))
			}).Should(Succeed())
			time.Sleep(5 * time.Second) // they would elect a leader now
		})

		accept := fmt.Sprintf("bared-0@%d", latest)
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, fmt.Sprintf("set spec.recovery.acceptDataLoss to %q", accept))
		stays(5*time.Second, func(g Gomega) { g.Expect(uidsOf(g, c)).To(Equal(known)) })
		Eventually(func(g Gomega) { // they run for a moment now and then, and are asked
			g.Expect(read(g, c).Status.QuorumLoss).To(HaveValue(And(
				HaveField("Lost", []string{"bared-1", "bared-2"}), HaveField("Accept", accept))))
		}).Should(Succeed())
		Expect(edit(c, accepting(accept))).To(Succeed())
		settles(c)
		Expect(members(c)).To(And(HaveLen(3), HaveKey("bared-0"), HaveKey("bared-3"), HaveKey("bared-4")))
		Expect(filled(c)).To(Equal(data))
		Expect(now(c).Status.ClusterID).To(Equal(id))
		discard(c)
	})
}
