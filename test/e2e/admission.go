// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// changeBack has a policy of the Kubernetes cluster change a label of the Service of members, and
// change it back at every write, until it is lifted.
func changeBack(c *v1beta1.EtcdCluster) (lift func()) {
	GinkgoHelper()
	const label = "app.kubernetes.io/part-of"
	expression := fmt.Sprintf(`Object{metadata: Object.metadata{labels: {%q: "theirs"}}}`, label)
	rule := admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}}
	name := metav1.ObjectMeta{Name: c.Namespace}
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: name, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: c.Namespace}},
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				ResourceNames: []string{c.Name},
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update}, Rule: rule,
				},
			}},
		},
		ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
		Mutations: []admissionregistrationv1.Mutation{{
			PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
			ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: expression},
		}},
	}}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: name, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name.Name},
	}
	if err := api.Create(ctx, policy); apimeta.IsNoMatchError(err) {
		Skip("this Kubernetes has no mutating policies")
	} else {
		Expect(err).NotTo(HaveOccurred())
	}
	Expect(api.Create(ctx, binding)).To(Succeed())
	lift = func() {
		Expect(client.IgnoreNotFound(api.Delete(ctx, binding))).To(Succeed())
		Expect(client.IgnoreNotFound(api.Delete(ctx, policy))).To(Succeed())
	}
	DeferCleanup(lift)
	Eventually(func(g Gomega) {
		var service corev1.Service
		g.Expect(api.Get(ctx, keyOf(c), &service)).To(Succeed())
		before := client.MergeFrom(service.DeepCopy())
		service.Annotations = map[string]string{"touched": time.Now().String()}
		g.Expect(api.Patch(ctx, &service, before)).To(Succeed())
		g.Expect(service.Labels).To(HaveKeyWithValue(label, "theirs"), "the policy holds")
	}).Should(Succeed())
	return lift
}
