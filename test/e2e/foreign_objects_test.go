// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func whatBelongsToOthers() {
	var namespace string

	BeforeEach(func() {
		namespace = newNamespace()
		startOperator(namespace)
	})

	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
	for i, object := range []func(guest string) client.Object{
		func(guest string) client.Object {
			return &corev1.Service{ObjectMeta: meta(guest), Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": "theirs"}, Ports: []corev1.ServicePort{{Port: 80}},
			}}
		},
		func(guest string) client.Object {
			return &corev1.Secret{ObjectMeta: meta(guest + "-client"), StringData: map[string]string{"theirs": "untouched"}}
		},
		func(guest string) client.Object {
			return &corev1.Secret{ObjectMeta: meta(guest + "-client-ca"), StringData: map[string]string{"theirs": "untouched"}}
		},
		func(guest string) client.Object {
			return &policyv1.PodDisruptionBudget{ObjectMeta: meta(guest), Spec: policyv1.PodDisruptionBudgetSpec{
				MaxUnavailable: ptr.To(intstr.FromInt(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}},
			}}
		},
		func(guest string) client.Object {
			return &corev1.PersistentVolumeClaim{ObjectMeta: meta(guest + "-0"), Spec: newClaimSpec()}
		},
	} {
		It("I7: what others have made is left alone and named until it is gone: "+describe(object("guest")), longAfter(0, i), func() {
			guest := fmt.Sprintf("guest%d", i)
			theirs := object(guest)
			Expect(api.Create(ctx, theirs)).To(Succeed())
			c := newCluster(namespace, guest, oneMember)
			Expect(api.Create(ctx, c)).To(Succeed())
			Eventually(func(g Gomega) {
				degraded := conditionOf(read(g, c), v1beta1.ConditionDegraded)
				g.Expect(degraded.Status).To(Equal(metav1.ConditionTrue))
				g.Expect(degraded.Message).To(ContainSubstring(theirs.GetName()))
			}).Should(Succeed())
			Expect(api.Get(ctx, keyOf(theirs), theirs)).To(Succeed())
			Expect(theirs.GetLabels()).NotTo(HaveKey(v1beta1.LabelCluster))
			Expect(theirs.GetOwnerReferences()).To(BeEmpty())
			for _, field := range theirs.GetManagedFields() {
				Expect(field.Manager).NotTo(Equal(v1beta1.FieldOwner))
			}
			Expect(api.Delete(ctx, theirs)).To(Succeed())
			settles(c)
			discard(c)
		})
	}
}
