// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// strangers are members that the operator did not make.
func strangers() {
	It("fault 40: a voter that somebody added and started is reported, never removed, and nothing changes beside it", func() {
		namespace := newNamespace()
		startOperator(namespace)
		// A stranger has no certificate of our authority, so this is a cluster without.
		c := create(newCluster(namespace, "open", func(spec *v1beta1.EtcdClusterSpec) { spec.TLS.Mode = v1beta1.TLSDisabled }))
		put(c, "key", "value")
		known := members(c)
		stranger := startStranger(c)
		id := addByHand(c, "http://"+stranger.Status.PodIP+":2380")
		Eventually(membersOf).WithArguments(c).Should(HaveKey("stranger?"))
		Eventually(func(g Gomega) {
			promoteByHand(c)
			g.Expect(membersOf(g, c)).To(HaveKey("stranger"))
		}).Should(Succeed())

		before := uids(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Size = ptr.To[int32](5)
			spec.Etcd.SnapshotCount = 5000
		})).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, fmt.Sprintf("etcdctl member remove %x", id))
		stays(aWhile, func(g Gomega) {
			g.Expect(members(c)).To(And(HaveLen(4), HaveKey("stranger")))
			g.Expect(uids(c)).To(Equal(before))
			g.Expect(conditionOf(read(g, c), v1beta1.ConditionAvailable).Status).To(Equal(metav1.ConditionTrue))
			g.Expect(read(g, c).Status.UnknownMembers).To(HaveExactElements(And(
				HaveField("ID", fmt.Sprintf("%x", id)), HaveField("Name", "stranger"), HaveField("Role", v1beta1.RoleVoter))))
		})
		put(c, "key", "beside a stranger")

		removeByHand(c, id)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](3) })).To(Succeed())
		settles(c)
		Expect(now(c).Status.UnknownMembers).To(BeEmpty())
		Expect(members(c)).To(Equal(known))
		Expect(untouched(Default, c, before)).To(BeZero(), "the roll went on")
		Expect(value(c, "key")).To(Equal("beside a stranger"))
	})

	It("fault 41: a learner of the operator that cannot start is reported, and goes when the size is set back", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "stuck"))
		known, before := members(c), uids(c)
		quota := allow(namespace, corev1.ResourcePods, "3")
		setSize(c, 5)
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonStepRejected, "exceeded quota")
		Expect(members(c)).To(And(HaveLen(4), HaveKey("?")))
		setSize(c, 3)
		settles(c)
		Expect(members(c)).To(Equal(known))
		Expect(uids(c)).To(Equal(before))
		Expect(api.Delete(ctx, quota)).To(Succeed())
	})
}
