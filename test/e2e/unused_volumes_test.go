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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// unusedVolumes are those of clusters that never began.
func unusedVolumes() {
	var namespace string

	BeforeEach(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	retained := func(spec *v1beta1.EtcdClusterSpec) { spec.DeletionPolicy = v1beta1.Retain }
	noClass := func(spec *v1beta1.EtcdClusterSpec) { spec.Storage.StorageClassName = ptr.To("no-such-class") }
	waits := func(c *v1beta1.EtcdCluster) {
		GinkgoHelper()
		Expect(api.Create(ctx, c)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(podsOf(g, namespace, ours(c))).To(HaveLen(3)) }).Should(Succeed())
	}

	It("fault 44: a storage class that there is not is corrected in place", func() {
		c := newCluster(namespace, "classless", noClass)
		waits(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Storage.StorageClassName = ptr.To("standard") })).To(Succeed())
		settles(c)
		Expect(members(c)).To(HaveLen(3))
		discard(c)
	})

	It("fault 44: the volumes of a storage class that there is not are no data to a cluster that is created again", func() {
		c := newCluster(namespace, "again", noClass, retained)
		waits(c)
		remove(c)
		Expect(claims(c)).To(HaveLen(3))
		discard(create(newCluster(namespace, "again", retained)))
	})

	It("a volume that Helm took over is data, and one that nobody knows is left alone", func() {
		c := create(newCluster(namespace, "helmed", retained))
		put(c, "key", "survives")
		id := now(c).Status.ClusterID
		remove(c)
		relabel := func(name, label, value string) {
			patch := fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, label, value)
			claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			Expect(api.Patch(ctx, claim, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
		}
		for _, name := range []string{"helmed-0", "helmed-1", "helmed-2"} {
			relabel(name, "app.kubernetes.io/managed-by", `"Helm"`)
		}
		relabel("helmed-1", v1beta1.LabelCluster, "null")
		again := newCluster(namespace, "helmed", retained)
		Expect(api.Create(ctx, again)).To(Succeed())
		says(again, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "PersistentVolumeClaim helmed-1 is in the way")
		Expect(pods(again)).To(BeEmpty())
		relabel("helmed-1", v1beta1.LabelCluster, `"helmed"`)
		settles(again)
		Expect(value(again, "key")).To(Equal("survives"))
		Expect(now(again).Status.ClusterID).To(Equal(id))
		discard(again)
	})

	It("fault 53: a quota that refuses the third volume leaves no data behind, and a smaller size starts at once", func() {
		var others corev1.PersistentVolumeClaimList
		Expect(api.List(ctx, &others, client.InNamespace(namespace))).To(Succeed())
		quota := allow(namespace, corev1.ResourcePersistentVolumeClaims, strconv.Itoa(len(others.Items)+2))
		c := newCluster(namespace, "two", retained)
		Expect(api.Create(ctx, c)).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonStepRejected, "exceeded quota")
		remove(c)
		c = newCluster(namespace, "two", retained)
		Expect(api.Create(ctx, c)).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonStepRejected, "exceeded quota")
		resize(c, 1)
		settles(c)
		Expect(members(c)).To(HaveKey("two-0"))
		discard(c)
		Expect(api.Delete(ctx, quota)).To(Succeed())
	})
}
