// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// putBack is what backup tools do: objects come back without status and owners, under new UIDs.
func putBack() {
	var namespace string

	BeforeEach(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	retained := func(spec *v1beta1.EtcdClusterSpec) { spec.DeletionPolicy = v1beta1.Retain }
	isGone := func(c *v1beta1.EtcdCluster) {
		GinkgoHelper()
		Eventually(func() bool { return apierrors.IsNotFound(api.Get(ctx, client.ObjectKeyFromObject(c), c.DeepCopy())) }).Should(BeTrue())
	}
	owned := func(c *v1beta1.EtcdCluster) {
		GinkgoHelper()
		uid := now(c).UID
		Eventually(func(g Gomega) {
			for _, object := range exported(g, c) {
				owner := metav1.GetControllerOf(object)
				g.Expect(owner).NotTo(BeNil(), object.GetName())
				g.Expect(owner.UID).To(Equal(uid), object.GetName())
			}
		}).Should(Succeed())
	}

	It("adopts all that an EtcdCluster left behind, and restarts nobody", func() {
		c := create(newCluster(namespace, "orphaned", retained))
		put(c, "key", "survives")
		id, before := now(c).Status.ClusterID, uids(c)
		Expect(api.Delete(ctx, c, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		isGone(c)
		again := create(newCluster(namespace, "orphaned", retained))
		Expect(value(again, "key")).To(Equal("survives"))
		Expect(now(again).Status.ClusterID).To(Equal(id))
		Expect(uids(again)).To(Equal(before))
		owned(again)
		discard(again)
	})

	It("adopts what was exported and created again, over volumes that were kept", func() {
		c := create(newCluster(namespace, "exported", retained))
		put(c, "key", "survives")
		id, known := now(c).Status.ClusterID, members(c)
		objects := exported(Default, c)
		remove(c)
		for _, object := range objects {
			Expect(api.Create(ctx, stripped(object))).To(Succeed())
		}
		again := create(newCluster(namespace, "exported", retained))
		Expect(value(again, "key")).To(Equal("survives"))
		Expect(now(again).Status.ClusterID).To(Equal(id))
		Expect(members(again)).To(Equal(known))
		owned(again)
		discard(again)
	})
}
