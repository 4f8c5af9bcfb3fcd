// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// twoInstallations runs the deployed operator once more, from another namespace.
func twoInstallations() {
	var c *v1beta1.EtcdCluster
	var second string // namespace of the second installation
	var replicas int32

	BeforeAll(func() {
		var found appsv1.Deployment
		Expect(api.Get(ctx, deployment, &found)).To(Succeed(), "make images deploy")
		replicas = max(ptr.Deref(found.Spec.Replicas, 1), ptr.Deref(slept, 1))
		runDeployed(replicas)
		DeferCleanup(func() { runDeployed(replicas) })
		c = create(newCluster(newNamespace(), "twice"))
		put(c, "key", "value")
		isLookedAfterBy(c, deployment.Namespace)
		second = installAgain()
	})

	It("fault 12: the second one leaves a cluster of the first alone and says so, while the first scales it", func() {
		says12 := fmt.Sprintf("the operator of lease %s/etcd-operator.dev does nothing to it", second)
		By("waiting for the second one to say that it does nothing")
		Eventually(func(g Gomega) { g.Expect(notesOf(g, c, "OtherOperator")).To(ContainElement(ContainSubstring(says12))) }).Should(Succeed())
		resize(c, 5)
		hasOnlyEverHadFive(c)
		Expect(value(c, "key")).To(Equal("value"))
		isLookedAfterBy(c, deployment.Namespace)
	})

	It("fault 12: the second one takes over when the first is gone, and heals", func() {
		before := members(c)
		By("scaling the first one to nothing")
		runDeployed(0)
		victim, _ := aFollower(c)
		deletePod(c, victim)
		comesBack(c, victim)
		isLookedAfterBy(c, second)
		settles(c)
		Expect(members(c)).To(Equal(before))
		Eventually(func(g Gomega) {
			g.Expect(notesOf(g, c, "OperatorChanged")).To(ContainElement(ContainSubstring(second)))
		}).Should(Succeed())
	})

	It("fault 12: the first one is passive when it is back, until the second is removed", func() {
		By("bringing the first one back")
		runDeployed(replicas)
		passive := fmt.Sprintf("the operator of lease %s/etcd-operator.dev does nothing to it", deployment.Namespace)
		Eventually(func(g Gomega) { g.Expect(notesOf(g, c, "OtherOperator")).To(ContainElement(ContainSubstring(passive))) }).Should(Succeed())
		victim, _ := aFollower(c)
		deletePod(c, victim)
		comesBack(c, victim)
		isLookedAfterBy(c, second)

		By("removing the second one; the first looks again within half a minute")
		again := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: second, Name: deployment.Name}}
		Expect(api.Delete(ctx, again)).To(Succeed())
		isLookedAfterBy(c, deployment.Namespace)
		resize(c, 3)
		hasOnlyEverHadFive(c)
		Expect(value(c, "key")).To(Equal("value"))
	})
}

// olderOperator makes an operator old, by a status that only a newer one would write.
func olderOperator() {
	It("fault 13: it changes nothing in the middle of a scale-up and says so; set back, it goes on", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "older"))
		put(c, "key", "value")
		room := allow(namespace, corev1.ResourcePersistentVolumeClaims, "3") // the fourth member waits for a volume
		setSize(c, 5)
		Eventually(func(g Gomega) { g.Expect(read(g, c).Status.NextSerial).To(Equal(int64(4))) }).Should(Succeed())
		setFormat(c, v1beta1.StatusFormat+1)
		By("waiting for the operator to say that a newer one has written the status")
		Eventually(func(g Gomega) { g.Expect(notesOf(g, c, "NewerStatus")).NotTo(BeEmpty()) }).Should(Succeed())
		Expect(api.Delete(ctx, room)).To(Succeed())

		ids := func() []string { // a learner gets its name only when it has started
			return slices.Sorted(maps.Values(members(c, "older-0", "older-1", "older-2")))
		}
		before, running, listed := now(c), uids(c), ids()
		Expect(before.Status.NextSerial).To(Equal(int64(4)), "it is not done")
		victim, _ := aFollower(c)
		deletePod(c, victim)
		Eventually(uidsOf).WithArguments(c).ShouldNot(HaveKey(victim.Name))
		delete(running, victim.Name)
		By("watching it do nothing for ten seconds")
		stays(10*time.Second, func(g Gomega) {
			g.Expect(read(g, c).ResourceVersion).To(Equal(before.ResourceVersion))
			g.Expect(uids(c)).To(Equal(running))
		})
		Expect(ids()).To(Equal(listed))

		setFormat(c, v1beta1.StatusFormat)
		settles(c)
		Expect(now(c).Status.NextSerial).To(Equal(int64(5)))
		Expect(value(c, "key")).To(Equal("value"))
	})
}
