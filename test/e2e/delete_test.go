// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func deletion() {
	var namespace string

	BeforeEach(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	retained := func(spec *v1beta1.EtcdClusterSpec) { spec.DeletionPolicy = v1beta1.Retain }

	It("with Retain leaves the volumes and nothing else, and a cluster of the same name adopts them", func() {
		c := create(newCluster(namespace, "kept", retained))
		put(c, "key", "survives")
		id, known := now(c).Status.ClusterID, members(c)
		remove(c)
		Expect(belongings(Default, c)).To(ConsistOf("PersistentVolumeClaim -0", "PersistentVolumeClaim -1", "PersistentVolumeClaim -2"))

		again := create(newCluster(namespace, "kept", retained))
		Expect(value(again, "key")).To(Equal("survives"))
		Expect(now(again).Status.ClusterID).To(Equal(id))
		Expect(members(again)).To(Equal(known))
		discard(again)
	})

	It("adopts volumes at another size: first as it was, then as it is wanted now", Label("long"), func() {
		c := create(newCluster(namespace, "resized", retained))
		put(c, "key", "survives")
		id := now(c).Status.ClusterID
		remove(c)
		again := create(newCluster(namespace, "resized", retained, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		Expect(value(again, "key")).To(Equal("survives"))
		Expect(now(again).Status.ClusterID).To(Equal(id))
		Expect(members(again)).To(HaveLen(1))
		discard(again)
	})

	It("fault 43: adopts volumes under a newer version by way of the versions between", Label("long"), func() {
		c := create(newCluster(namespace, "leaps", retained, ofVersion("3.5.35")))
		data := fill(c)
		remove(c)
		again := newCluster(namespace, "leaps", retained, ofVersion("3.7.3"))
		Expect(api.Create(ctx, again)).To(Succeed())
		w := callWitness(again)
		settles(again)
		w.Dismiss()
		targets, _ := w.Progress()
		Expect(strings.Join(targets, " ")).To(HaveSuffix("3.5.35 3.6.16 3.7.3"))
		Expect(running(again)).To(HaveEach("3.7.3"))
		Expect(filled(again)).To(Equal(data))
		discard(again)
	})

	It("fault 20: says of a minority of volumes what is lost with the others, and goes on when a person accepts it", Label("long"), func() {
		c := create(newCluster(namespace, "few", retained))
		data, latest := fill(c), revision(c)
		remove(c)
		for _, name := range []string{"few-1", "few-2"} {
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			Expect(api.Delete(ctx, claim)).To(Succeed())
		}
		again := newCluster(namespace, "few", retained, automatic)
		Expect(api.Create(ctx, again)).To(Succeed())
		accept := fmt.Sprintf("few-0@%d", latest)
		says(again, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, fmt.Sprintf("set spec.recovery.acceptDataLoss to %q", accept))
		Eventually(func(g Gomega) {
			g.Expect(read(g, again).Status.QuorumLoss).To(HaveValue(And(
				HaveField("Lost", []string{"few-1", "few-2"}), HaveField("Accept", accept))))
		}).Should(Succeed())
		stays(5*time.Second, func(g Gomega) { g.Expect(read(g, again).Status.Recovering).To(BeEmpty(), "Automatic does not count") })
		Expect(edit(again, accepting(accept))).To(Succeed())
		settles(again)
		Expect(members(again)).To(And(HaveLen(3), HaveKey("few-0"), HaveKey("few-3"), HaveKey("few-4")))
		Expect(filled(again)).To(Equal(data))
		discard(again)
	})

	It("with Delete leaves nothing", func() {
		c := create(newCluster(namespace, "gone"))
		remove(c)
		Expect(belongings(Default, c)).To(BeEmpty())
	})

	It("fault 65: ends in every phase of a creation", Label("long"), func() {
		for _, phase := range []func(g Gomega, c *v1beta1.EtcdCluster){
			func(Gomega, *v1beta1.EtcdCluster) {},
			func(g Gomega, c *v1beta1.EtcdCluster) { g.Expect(read(g, c).Status.Bootstrap).NotTo(BeNil()) },
			func(g Gomega, c *v1beta1.EtcdCluster) { g.Expect(podsOf(g, namespace, ours(c))).NotTo(BeEmpty()) },
			func(g Gomega, c *v1beta1.EtcdCluster) { g.Expect(read(g, c).Status.ClusterID).NotTo(BeEmpty()) },
		} {
			c := newCluster(namespace, "brief")
			Expect(api.Create(ctx, c)).To(Succeed())
			Eventually(func(g Gomega) { phase(g, c) }).Should(Succeed())
			remove(c)
			Eventually(belongings).WithArguments(c).Should(BeEmpty()) // what the operator was just making goes as well
		}
	})
}
