// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func memory() {
	It("fault 24: a container that runs out of memory restarts as the same member", func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "small", func(spec *v1beta1.EtcdClusterSpec) {
			spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("128Mi")}
		}))
		put(c, "key", "value")
		known, before := members(c), uids(c)
		exhaust(c, "small-1")
		Eventually(func(g Gomega) { g.Expect(restartsOf(g, c)["small-1"]).To(BeNumerically(">", 0)) }).Should(Succeed())
		Expect(lastEnd(c, "small-1")).To(HavePrefix("OOMKilled"))
		settles(c)
		Expect(members(c)).To(Equal(known), "no membership change")
		Expect(uids(c)).To(Equal(before), "no Pod was replaced")
		Expect(value(c, "key")).To(Equal("value"))
	})
}
