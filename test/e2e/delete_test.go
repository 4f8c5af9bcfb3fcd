package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

func deletion() {
	var namespace string

	BeforeAll(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	retained := func(spec *v1alpha1.EtcdClusterSpec) { spec.DeletionPolicy = v1alpha1.Retain }

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
		remove(again)
	})

	It("adopts volumes at another size: first as it was, then as it is wanted now", func() {
		c := create(newCluster(namespace, "resized", retained))
		put(c, "key", "survives")
		id := now(c).Status.ClusterID
		remove(c)
		again := create(newCluster(namespace, "resized", retained, func(spec *v1alpha1.EtcdClusterSpec) { spec.Size = ptr.To[int32](1) }))
		Expect(value(again, "key")).To(Equal("survives"))
		Expect(now(again).Status.ClusterID).To(Equal(id))
		Expect(members(again)).To(HaveLen(1))
		remove(again)
	})

	It("with Delete leaves nothing", func() {
		c := create(newCluster(namespace, "gone"))
		remove(c)
		Expect(belongings(Default, c)).To(BeEmpty())
	})

	It("fault 65: ends in every phase of a creation", func() {
		for _, phase := range []func(g Gomega, c *v1alpha1.EtcdCluster){
			func(Gomega, *v1alpha1.EtcdCluster) {},
			func(g Gomega, c *v1alpha1.EtcdCluster) { g.Expect(read(g, c).Status.Bootstrap).NotTo(BeNil()) },
			func(g Gomega, c *v1alpha1.EtcdCluster) { g.Expect(pods(c)).NotTo(BeEmpty()) },
			func(g Gomega, c *v1alpha1.EtcdCluster) { g.Expect(read(g, c).Status.ClusterID).NotTo(BeEmpty()) },
		} {
			c := newCluster(namespace, "brief")
			Expect(api.Create(ctx, c)).To(Succeed())
			Eventually(func(g Gomega) { phase(g, c) }).Should(Succeed())
			remove(c)
			Expect(belongings(Default, c)).To(BeEmpty())
		}
	})
}
