// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// narrowed are clusters of an operator that does not give them any more what they have.
func narrowed() {
	It("fault 75: limits that are narrowed let members start again, and nothing else", func() {
		if useDeployed {
			Skip("it has its own flags")
		}
		namespace := newNamespace()
		operator := startOperator(namespace)
		c := create(newCluster(namespace, "labelled", func(spec *v1beta1.EtcdClusterSpec) {
			spec.PodMetadata.Labels = map[string]string{"team": "a"}
		}))
		put(c, "before", "kept")
		operator.flags = []string{"--allowed-labels=none"}
		operator.restart()
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "is started again as it was")
		for _, victim := range pods(c) {
			deletePod(c, victim)
			comesBack(c, victim)
		}
		Expect(value(c, "before")).To(Equal("kept"))
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](5) })).To(Succeed())
		Consistently(func() []corev1.Pod { return pods(c) }, 10*time.Second).Should(HaveLen(3))

		By("what was never allowed")
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.PodMetadata.Labels = map[string]string{"team": "b"} })).To(Succeed())
		says(c, v1beta1.ConditionDegraded, v1beta1.ReasonActionRequired, "none is started, changed or replaced")
		operator.flags = nil
		operator.restart()
		settles(c)
		Expect(now(c).Status.Members).To(HaveLen(5))
	})

	It("fault 83: authentication is enabled only by an operator that is root", Label("long"), func() {
		namespace := newNamespace()
		startOperator(namespace)
		c := create(newCluster(namespace, "rootless", oneMember))
		signed := signers(c)
		Expect(api.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: c.ClientCA()}})).To(Succeed())
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Auth.Enabled = true })).To(Succeed())
		says(c, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthChanging, "could not prove that it is root")
		isRotated(c, signed, "client")
		says(c, v1beta1.ConditionAuthEnabled, v1beta1.ReasonAuthAsSpecified, "")
		Expect(conditionOf(now(c), v1beta1.ConditionDegraded).Status).To(Equal(metav1.ConditionFalse))

		By("what only root may do")
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To[int32](3) })).To(Succeed())
		settles(c)
		Expect(edit(c, func(spec *v1beta1.EtcdClusterSpec) { spec.Auth.Enabled = false })).To(Succeed())
		authIs(c, metav1.ConditionFalse)
	})
}
