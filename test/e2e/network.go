// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/netfault"
)

// networks are those of the named members, or of all.
func networks(c *v1beta1.EtcdCluster, members ...string) []*netfault.Network {
	GinkgoHelper()
	needsLocal()
	var all []*netfault.Network
	for _, p := range pods(c) {
		if len(members) == 0 || contains(members, p.Name) {
			all = append(all, netfault.Open(p.Name, p.Status.PodIP, processOf(string(p.UID))))
		}
	}
	return all
}

// needsLocal skips what has to reach into the node.
func needsLocal() {
	if !isLocal() {
		Skip("reaches into the node: on the local cluster only")
	}
}

// turnAgainst makes a leader without TLS take a member for away, for as long as it runs.
// Messages for the member, which has no streams yet when it starts, go astray; they fail when
// it has.
func turnAgainst(c *v1beta1.EtcdCluster, leader, member *netfault.Network, ids map[string]string) {
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
