// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientv3 "go.etcd.io/etcd/client/v3"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// exchanges are of members whose place others take although they are well.
func exchanges() {
	It("replaces members one at a time by members with volumes of another storage class, while clients write", Label("long"), func() {
		needsService()
		namespace := newNamespace()
		startOperator(namespace)
		class, _ := anotherClass()
		c := create(newCluster(namespace, "moved"))
		data := fill(c)
		etcd, err := clientv3.New(throughService(c))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(etcd.Close)
		begun := time.Now()
		beats := writesWhile(etcd, func() {
			Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Storage.StorageClassName = &class })).To(Succeed())
			hasVolumes(c, class, "moved-3", "moved-4", "moved-5")
		})
		measured("exchange of three members", time.Since(begun))
		Expect(beats.Gap).To(BeNumerically("<", outage))
		settles(c)
		Expect(filled(c)).To(Equal(data))
		Expect(putAside(c)).To(HaveLen(3), "the volumes of the members that left are kept")

		By("being asked for one more")
		annotate(c, v1beta1.AnnotationReplaceMembers, "moved-4")
		hasVolumes(c, class, "moved-3", "moved-5", "moved-6")
		settles(c)
		Expect(filled(c)).To(Equal(data))
	})

	It("fault 123: waits for a storage class that does not exist, and goes on when another one is wanted", Label("long"), func() {
		namespace := newNamespace()
		startOperator(namespace)
		_, before := anotherClass()
		c := create(newCluster(namespace, "lacking", oneMember))
		data := fill(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Storage.StorageClassName = ptr.To("no-such-class") })).To(Succeed())
		says(c, v1beta1.ConditionProgressing, v1beta1.ReasonWaiting, "learner lacking-1")
		says(c, v1beta1.ConditionAvailable, v1beta1.ReasonHealthy, "")
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Storage.StorageClassName = &before })).To(Succeed())
		hasVolumes(c, before, "lacking-0")
		settles(c)
		Expect(filled(c)).To(Equal(data))
	})

	It("says that a name is no member's", Label("long"), func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "named", oneMember))
		annotate(c, v1beta1.AnnotationReplaceMembers, "nobody-0")
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, `names "nobody-0", which is and was no member of named`)
	})
}

// hasVolumes waits until these are the members, with volumes of that class.
func hasVolumes(c *v1beta1.EtcdCluster, class string, members ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		has := map[string]string{}
		for _, claim := range claimsOf(g, c) {
			if claim.Labels[v1beta1.LabelQuarantined] == "" {
				has[claim.Name] = ptr.Deref(claim.Spec.StorageClassName, "")
			}
		}
		want := map[string]string{}
		for _, name := range members {
			want[name] = class
		}
		g.Expect(has).To(Equal(want))
	}).Should(Succeed())
}

// anotherClass is a copy of the default storage class, and the name of that.
func anotherClass() (class, standard string) {
	GinkgoHelper()
	var all storagev1.StorageClassList
	Expect(api.List(ctx, &all)).To(Succeed())
	for _, one := range all.Items {
		if one.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" {
			continue
		}
		other := one.DeepCopy()
		other.ObjectMeta = metav1.ObjectMeta{GenerateName: "e2e-"}
		Expect(api.Create(ctx, other)).To(Succeed())
		DeferCleanup(func() { Expect(api.Delete(ctx, other)).To(Succeed()) })
		return other.Name, one.Name
	}
	Skip("there is no default storage class")
	return "", ""
}
