// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func backupsInClouds() {
	DescribeTable("are written, verified, found again and restored from",
		func(in func(namespace string) v1beta1.EtcdBackupStoreSpec) {
			namespace := newNamespace()
			startOperator(namespace)
			store := &v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cloud"}, Spec: in(namespace)}
			c := create(newCluster(namespace, "source", oneMember))
			data := fill(c)
			putUnpackable(c, unpackable) // in more than one part
			Expect(api.Create(ctx, store)).To(Succeed())
			canBeUsed(store)
			first := back(c, "cloud", "first")
			restored := create(newCluster(namespace, "restored", restoring("first")))
			Expect(filled(restored)).To(Equal(data))
			gone := back(c, "cloud", "gone", func(spec *v1beta1.EtcdBackupSpec) { spec.DeletionPolicy = v1beta1.DeleteBackup })
			Expect(api.Delete(ctx, gone)).To(Succeed())
			Eventually(func() error { return api.Get(ctx, keyOf(gone), gone) }).ShouldNot(Succeed())

			other := newNamespace()
			startOperator(other)
			same := &v1beta1.EtcdBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "cloud"}, Spec: store.Spec}
			credentials := map[string]string{}
			for key, value := range secretOf(store).Data {
				credentials[key] = string(value)
			}
			newSecret(other, secretOf(store).Name, credentials)
			Expect(api.Create(ctx, same)).To(Succeed())
			Expect(foundAt(other, "cloud", first.Status.Path).Status.Revision).To(Equal(first.Status.Revision))
		},
		Entry("Google Cloud Storage", inGoogle),
		Entry("Azure Blob Storage", inAzure),
	)
}
