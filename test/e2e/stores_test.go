// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func backupsInS3() {
	var c *v1beta1.EtcdCluster
	var server *s3Server
	var store *v1beta1.EtcdBackupStore
	var data map[string]string

	BeforeAll(func() {
		namespace := newNamespace()
		startOperator(namespace)
		server = startS3()
		c = create(newCluster(namespace, "source", oneMember))
		data = fill(c)
		store = newS3Store(server, namespace, "s3")
		canBeUsed(store)
	})

	It("are written, verified, and restored from", func() {
		back(c, "s3", "first")
		restored := create(newCluster(c.Namespace, "restored", restoring("first")))
		Expect(filled(restored)).To(Equal(data))
		discard(restored)
	})

	It("fault 56: wait for a store that is out of reach, and are made when it is back", func() {
		server.stop()
		waiting := newBackup(c, "s3", "waiting")
		Expect(api.Create(ctx, waiting)).To(Succeed())
		storeSays(store, "Unreachable", server.address)
		server.start()
		Eventually(func(g Gomega) {
			readBackup(g, waiting)
			g.Expect(waiting.Status.Verified).NotTo(BeNil())
		}).WithTimeout(8 * time.Minute).Should(Succeed())
	})

	It("fault 57: say that keys are refused, and take new ones without a restart", func() {
		server.stop()
		server.secret = "second-secret"
		server.start()
		refused := newBackup(c, "s3", "refused")
		Expect(api.Create(ctx, refused)).To(Succeed())
		storeSays(store, "Forbidden", "")
		newSecret(c.Namespace, "s3", server.keys())
		Eventually(func(g Gomega) {
			readBackup(g, refused)
			g.Expect(refused.Status.Verified).NotTo(BeNil())
		}).WithTimeout(8 * time.Minute).Should(Succeed())
	})

	It("fault 59: of another cluster are told apart from one's own", func() {
		namespace := newNamespace()
		startOperator(namespace)
		other := create(newCluster(namespace, "source", oneMember))
		same := newS3Store(server, other.Namespace, "s3")
		canBeUsed(same)
		Eventually(func(g Gomega) {
			found := backupsOf(g, other.Namespace)
			g.Expect(found).To(HaveLen(3))
			for _, b := range found {
				g.Expect(b.Status.ClusterUID).To(BeEquivalentTo(c.UID))
				g.Expect(b.Spec.Found).To(ContainSubstring("/" + c.Namespace + "/source/"))
			}
		}).Should(Succeed())
		restored := newCluster(other.Namespace, "moved", oneMember, func(spec *v1beta1.EtcdClusterSpec) {
			spec.Bootstrap = &v1beta1.BootstrapSpec{Restore: &v1beta1.Restore{Store: "s3", Cluster: c.Namespace + "/source"}}
		})
		Expect(filled(create(restored))).To(Equal(data))
	})
}
