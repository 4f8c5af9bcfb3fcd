// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strconv"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func faultsOfMembership() {
	var c *v1beta1.EtcdCluster
	var id string

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "listed"))
		put(c, "key", "value")
		id = now(c).Status.ClusterID
	})

	AfterEach(func() {
		settles(c)
		Expect(members(c)).To(HaveLen(3))
		Expect(now(c).Status.ClusterID).To(Equal(id))
		Expect(value(c, "key")).To(Equal("value"))
	})

	It("fault 18: a member whose volume is lost is replaced under a new name", func() {
		victim, _ := aFollower(c)
		lose(c, victim.Name)
		Eventually(membersOf).WithArguments(c).Should(And(Not(HaveKey(victim.Name)), HaveKey("listed-3")))
	})

	It("fault 39: a member that somebody removed is replaced, and its volume put aside", func() {
		victim, _ := aFollower(c)
		removed, err := strconv.ParseUint(members(c)[victim.Name], 16, 64)
		Expect(err).NotTo(HaveOccurred())
		removeByHand(c, removed)
		Eventually(membersOf).WithArguments(c).Should(And(Not(HaveKey(victim.Name)), HaveKey("listed-4")))
		var aside corev1.PersistentVolumeClaim
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: victim.Name}, &aside)).To(Succeed())
			g.Expect(aside.Labels).To(HaveKey(v1beta1.LabelQuarantined))
		}).Should(Succeed())
	})

	It("faults 40 and 41: a member that somebody added is reported and left alone", func() {
		stranger := addByHand(c, "https://stranger.example:2380")
		before := uids(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.PodMetadata.Labels = map[string]string{"look": "again"} })).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "stranger.example")
		Expect(members(c)).To(HaveLen(4))
		Expect(uids(c)).To(Equal(before), "nothing is changed beside it")
		removeByHand(c, stranger)
	})
}

// withoutNode is what becomes of members whose Pods find no node, because all are cordoned.
func withoutNode() {
	var c *v1beta1.EtcdCluster
	var id string

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		c = create(newCluster(namespace, "pending"))
		put(c, "key", "value")
		id = now(c).Status.ClusterID
	})

	AfterEach(func() {
		settles(c)
		Expect(members(c)).To(HaveLen(3))
		Expect(now(c).Status.ClusterID).To(Equal(id))
		Expect(value(c, "key")).To(Equal("value"))
	})

	It("fault 18: a volume that is lost while its Pod waits for a node counts as lost, and nobody waits with it", func() {
		victim, _ := aFollower(c)
		successor := fmt.Sprintf("%s-%d", c.Name, now(c).Status.NextSerial)
		uncordonAll := cordonAll()
		Expect(api.Delete(ctx, &victim)).To(Succeed())
		pod := corev1.Pod{}
		Eventually(func(g Gomega) {
			g.Expect(api.Get(ctx, client.ObjectKeyFromObject(&victim), &pod)).To(Succeed())
			g.Expect(pod.UID).NotTo(Equal(victim.UID))
			g.Expect(pod.Spec.NodeName).To(BeEmpty())
		}).Should(Succeed())
		lost := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: victim.Name}}
		Expect(api.Delete(ctx, lost)).To(Succeed())
		Eventually(membersOf).WithArguments(c).Should(And(Not(HaveKey(victim.Name)), HaveLen(3)), "another one is to come")
		uncordonAll()
		Eventually(membersOf).WithArguments(c).Should(HaveKey(successor))
	})

	It("fault 19: a member that was to join while another one was removed is created again, and told of those that are left", func() {
		victim, _ := aFollower(c)
		joining := fmt.Sprintf("%s-%d", c.Name, now(c).Status.NextSerial)
		uncordonAll := cordonAll()
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = new(int32(5)) })).To(Succeed())
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: joining}}
		Eventually(func() error { return api.Get(ctx, client.ObjectKeyFromObject(&pod), &pod) }).Should(Succeed())
		lose(c, victim.Name)
		Eventually(membersOf).WithArguments(c).Should(Not(HaveKey(victim.Name)))
		uncordonAll()
		settles(c)
		Expect(membersOf(Default, c)).To(And(HaveLen(5), HaveKey(joining)))
		scale(c, 3)
	})
}
