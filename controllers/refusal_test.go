// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestWhatIsRefusedHoldsNothingUp: a policy of the Kubernetes cluster lets no client give one
// volume an owner. The others get theirs, Pods come back, and a condition says what is wrong.
func TestWhatIsRefusedHoldsNothingUp(t *testing.T) {
	c := create(t, watched, "stubborn")
	whole(t, c)
	forbidOwner(t, "stubborn-1")
	get := func(name string, object client.Object) error { return get(t, c, name, object) }

	if err := get(c.Name, c); err != nil {
		t.Fatal(err)
	}
	c.Spec.DeletionPolicy = v1beta1.Delete
	if err := server.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the refusal to be reported", func() error {
		if err := get(c.Name, c); err != nil {
			return err
		}
		told := meta.FindStatusCondition(c.Status.Conditions, v1beta1.ConditionDegraded)
		if told == nil || told.Reason != v1beta1.ReasonStepRejected || !strings.Contains(told.Message, "no owner for this one") {
			return fmt.Errorf("condition %+v", told)
		}
		return nil
	})
	eventually(t, "the other volumes to be owned", func() error {
		var other corev1.PersistentVolumeClaim
		if err := get("stubborn-2", &other); err != nil || len(other.OwnerReferences) != 1 {
			return fmt.Errorf("owners %v, %w", other.OwnerReferences, err)
		}
		return nil
	})
	var pod corev1.Pod
	if err := get("stubborn-1", &pod); err != nil {
		t.Fatal(err)
	}
	if err := server.Delete(t.Context(), &pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	gone := pod.UID
	eventually(t, "the Pod to come back", func() error {
		if err := get("stubborn-1", &pod); err != nil {
			return err
		}
		if pod.UID == gone {
			return errors.New("it is the old one")
		}
		return nil
	})
}

// forbidOwner has the API server let no client give a volume an owner, until the test ends.
func forbidOwner(t *testing.T, claim string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: claim}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			ResourceNames: []string{claim},
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"persistentvolumeclaims"},
				},
			},
		}}},
		Validations: []admissionregistrationv1.Validation{{
			Expression: "!has(object.metadata.ownerReferences) || object.metadata.ownerReferences.size() == 0", Message: "no owner for this one",
		}},
	}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta}
	binding.Spec.PolicyName = claim
	binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}
	for _, object := range []client.Object{policy, binding} {
		if err := server.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Delete(context.Background(), object) })
	}
	eventually(t, "the policy to hold", func() error {
		var volume corev1.PersistentVolumeClaim
		if err := server.Get(t.Context(), client.ObjectKey{Namespace: watched, Name: claim}, &volume); err != nil {
			return err
		}
		volume.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "x", UID: "x", Controller: ptr.To(true)}}
		if err := server.Update(t.Context(), &volume, client.DryRunAll); err == nil {
			return errors.New("it does not hold yet")
		}
		return nil
	})
}
