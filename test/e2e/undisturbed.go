// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/netfault"
)

// aWhile is how long a fault lasts: several elections, and two looks of the
// operator at a cluster that is not well.
const aWhile = 8 * time.Second

// undisturbed is a cluster in which nobody may be replaced, whatever happens.
type undisturbed struct {
	c             *v1beta1.EtcdCluster
	o             *operator
	known, before map[string]string
	gap           time.Duration // in which nobody could write, during the last fault
}

// roles are those that a member may have when a fault begins.
var roles = []string{oneFollower, theLeader}

const (
	oneFollower = "a follower"
	theLeader   = "the leader"
)

// chosen is a member with that role now.
func (u *undisturbed) chosen(role string) string {
	GinkgoHelper()
	if role == theLeader {
		_, leader, _ := standing(u.c)
		return leader
	}
	follower, _ := aFollower(u.c)
	return follower.Name
}

// during is how many elections were won while clients were busy and something
// happened, up to when all is well again.
func (u *undisturbed) during(happens func()) int {
	GinkgoHelper()
	watch := watchElections(u.c)
	result, _ := busy(u.c, func() {
		happens()
		settles(u.c)
	})
	u.gap = result.Gap
	won := watch.end()
	AddReportEntry("elections", won)
	return won
}

// stays checks for a while that nobody is replaced, and that the cluster is
// available by way of some members.
func (u *undisturbed) stays(via ...*netfault.Network) {
	GinkgoHelper()
	var names []string
	for _, n := range via {
		names = append(names, n.Member)
	}
	well := func(g Gomega) {
		g.Expect(uids(u.c)).To(Equal(u.before))
		g.Expect(conditionOf(read(g, u.c), v1beta1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
		g.Expect(membersOf(g, u.c, names...)).To(Equal(u.known))
	}
	Eventually(well).Should(Succeed(), "an election to end")
	stays(aWhile, well)
}

// costsLittle checks what a fault of one member may cost: an election if it was
// the leader, and else nothing.
func (u *undisturbed) costsLittle(role string, elections int) {
	GinkgoHelper()
	Expect(u.gap).To(BeNumerically("<", outage))
	if role == theLeader {
		Expect(elections).To(Equal(1))
		return
	}
	Expect(elections).To(BeZero())
}
