package e2e

import (
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
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
		latest, known := revision(c), uids(c)
		empty := func(member string) func() {
			return func() { Expect(os.RemoveAll(dataOf(c, member))).To(Succeed()) }
		}
		killAfter(c, "bared-1", func() { killAfter(c, "bared-2", empty("bared-2")); empty("bared-1")() })

		accept := fmt.Sprintf("bared-0@%d", latest)
		says(c, v1alpha1.ConditionDegraded, v1alpha1.ReasonNeedsHelp, fmt.Sprintf("set spec.recovery.acceptDataLoss to %q", accept))
		stays(5*time.Second, func(g Gomega) {
			g.Expect(read(g, c).Status.QuorumLoss).To(HaveValue(And(
				HaveField("Lost", []string{"bared-1", "bared-2"}), HaveField("Accept", accept))))
			g.Expect(uidsOf(g, c)).To(Equal(known))
		})
		Expect(edit(c, accepting(accept))).To(Succeed())
		settles(c)
		Expect(members(c)).To(And(HaveLen(3), HaveKey("bared-0"), HaveKey("bared-3"), HaveKey("bared-4")))
		Expect(filled(c)).To(Equal(data))
		Expect(now(c).Status.ClusterID).To(Equal(id))
		discard(c)
	})
}
