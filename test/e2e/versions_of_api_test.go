// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// What users of the earlier version of the API have goes on.
func versionsOfTheAPI() {
	It("takes a manifest of v1alpha1, and shows the same cluster in both versions", Label("gate"), func() {
		c := newCluster(newNamespace(), "alpha", oneMember)
		startOperator(c.Namespace)
		asEarlier(func() { create(c) })
		current, earlier := inVersion(c, v1beta1.GroupVersion.String()), inVersion(c, v1beta1.EarlierVersion.String())
		Expect(earlier.Object["spec"]).To(Equal(current.Object["spec"]))
		Expect(earlier.Object["status"]).To(HaveKeyWithValue("clusterID", current.Object["status"].(map[string]any)["clusterID"]))

		By("changing it in the other version")
		scale(c, 3)
		asEarlier(func() { settles(c) })
		Expect(lives(c)).To(HaveLen(3))
		remove(c)
	})
}

func inVersion(c *v1beta1.EtcdCluster, version string) *unstructured.Unstructured {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(version)
	object.SetKind("EtcdCluster")
	Expect(api.Get(ctx, keyOf(c), object)).To(Succeed())
	return object
}
