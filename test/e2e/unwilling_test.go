package e2e

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/netfault"
)

// unwillingLeaders take a member for away that is there. etcd does when a message, sent while
// that member started, fails only after its streams are connected (docs/adr/0022).
func unwillingLeaders() {
	It("fault 34: a leader that goes on taking a member for cut off, and lets nobody join, hands over", func() {
		needsLocal()
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "unwilling", func(spec *v1alpha1.EtcdClusterSpec) { spec.TLS.Mode = v1alpha1.TLSDisabled }))
		put(c, "key", "value")
		leader, known := leaderOf(Default, c), members(c)
		deaf, others := netfault.Split(networks(c), leader)
		turnAgainst(c, deaf, others[0], known)

		Expect(edit(c, func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = new(int32(5)) })).To(Succeed())
		says(c, v1alpha1.ConditionProgressing, v1alpha1.ReasonWaiting, "etcd to be ready to add learner unwilling-3")
		Expect(leaderOf(Default, c)).To(Equal(leader))
		settles(c)
		Expect(leaderOf(Default, c)).NotTo(Equal(leader))
		Expect(value(c, "key")).To(Equal("value"))
		for name, id := range known {
			Expect(members(c)).To(HaveKeyWithValue(name, id), "nobody was replaced")
		}
	})
}

// turnAgainst makes a leader without TLS take a member for away, for as long as it runs.
// Messages for the member, which has no streams yet when it starts, go astray; they fail when
// it has.
func turnAgainst(c *v1alpha1.EtcdCluster, leader, member *netfault.Network, ids map[string]string) {
	GinkgoHelper()
	active := func() float64 {
		return metric(leader.Address, fmt.Sprintf("etcd_network_active_peers{Local=%q,Remote=%q}", ids[leader.Member], ids[member.Member]))
	}
	streams := fmt.Sprintf("ip saddr %s tcp dport 2380 tcp flags & (syn|ack) == syn drop", member.Address)
	messages := fmt.Sprintf("ip daddr %s tcp dport 2380 @ih,0,32 0x%x", member.Address, "POST")
	leader.Filter(streams, messages+" counter drop")
	killProcess(c, member.Member)
	Eventually(leader.Run).WithArguments("", "nft", "list", "table", "inet", "fault").
		Should(MatchRegexp("counter packets [1-9]"), "a message is on its way")
	leader.Filter("", messages+" drop")
	Eventually(active).Should(Equal(1.), "its streams are connected")
	settles(c)
	leader.Filter("", messages+" reject with tcp reset")
	Eventually(leader.Run).WithArguments("", "ss", "-Htn", "state", "established", "dst", member.Address, "dport = 2380").
		ShouldNot(MatchRegexp(`(?m)^\d+ +[1-9]`), "every message has failed")
	Expect(active()).To(Equal(0.))
	leader.Heal()
	Consistently(active).Should(Equal(0.))
}
