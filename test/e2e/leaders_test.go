// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/e2e/internal/netfault"
)

// leadersThatRefuse take a member for away that is there. etcd does when a message, sent while
// that member started, fails only after its streams are connected (docs/adr/0022).
func leadersThatRefuse() {
	It("fault 34: a leader that goes on taking a member for cut off, and lets nobody join, hands over", func() {
		needsLocal()
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "refused", func(spec *v1beta1.EtcdClusterSpec) { spec.TLS.Mode = v1beta1.TLSDisabled }))
		put(c, "key", "value")
		leader, known := leaderOf(Default, c), members(c)
		deaf, others := netfault.Split(networks(c), leader)
		turnAgainst(c, deaf, others[0], known)

		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = new(int32(5)) })).To(Succeed())
		says(c, v1beta1.ConditionProgressing, v1beta1.ReasonWaiting, "etcd to be ready to add learner refused-3")
		Expect(leaderOf(Default, c)).To(Equal(leader))
		settles(c)
		Expect(leaderOf(Default, c)).NotTo(Equal(leader))
		Expect(value(c, "key")).To(Equal("value"))
		for name, id := range known {
			Expect(members(c)).To(HaveKeyWithValue(name, id), "nobody was replaced")
		}
	})
}
