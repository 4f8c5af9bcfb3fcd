// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/limits"
)

// TestPolicyOfLimits: the sample policy refuses at admission what the flags in its comment have the operator refuse, with a message that
// says what is allowed; what is allowed is created.
func TestPolicyOfLimits(t *testing.T) {
	flags := applyLimits(t, "limited")
	for name, test := range map[string]struct{ spec, says string }{
		"nothing asked for":        {"{}", ""},
		"a tag":                    {"{image: 'registry.example/etcd:v3.6.16', version: 3.6.16}", ""},
		"a digest":                 {"{image: 'registry.example/etcd@sha256:12', version: 3.6.16}", ""},
		"another registry":         {"{image: 'registry.example.evil/etcd:v3.6.16', version: 3.6.16}", "spec.image registry.example.evil"},
		"another image":            {"{image: 'registry.example/etcd-evil:v3.6.16', version: 3.6.16}", "take registry.example/etcd"},
		"a folder of it":           {"{image: 'registry.example/etcd:5000/evil', version: 3.6.16}", "spec.image"},
		"the class":                {"{scheduling: {priorityClassName: etcd}}", ""},
		"another class":            {"{scheduling: {priorityClassName: system-cluster-critical}}", "system-cluster-critical is not allowed"},
		"the taint":                {"{scheduling: {tolerations: [{key: dedicated, value: etcd, effect: NoSchedule}]}}", ""},
		"every taint":              {"{scheduling: {tolerations: [{operator: Exists}]}}", "spec.scheduling.tolerations may have nothing but"},
		"every value":              {"{scheduling: {tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}]}}", "tolerations"},
		"every effect":             {"{scheduling: {tolerations: [{key: dedicated, value: etcd}]}}", "tolerations"},
		"one that is, one not":     {"{scheduling: {tolerations: [{key: dedicated, value: etcd, effect: NoSchedule}, {key: a}]}}", "tolerations"},
		"labels":                   {"{podMetadata: {labels: {team: a, example.com/b: c}}}", ""},
		"a label of others":        {"{podMetadata: {labels: {app: shop}}}", "spec.podMetadata.labels may have nothing but"},
		"an annotation":            {"{podMetadata: {annotations: {example.com/b: c}}}", ""},
		"an annotation of others":  {"{podMetadata: {annotations: {k8s.v1.cni.cncf.io/networks: a}}}", "spec.podMetadata.annotations"},
		"an annotation that looks": {"{podMetadata: {annotations: {example-com/b: c}}}", "spec.podMetadata.annotations"},
	} {
		t.Run(name, func(t *testing.T) {
			c := written(t, "limited", test.spec)
			c.SetNamespace("limited")
			err := server.Create(t.Context(), c, client.DryRunAll, strict)
			if test.says == "" {
				wantAccepted(t, err, test.spec)
			} else {
				wantRefused(t, err, test.spec, test.says, "ValidatingAdmissionPolicy")
			}
			var typed v1beta1.EtcdCluster
			if err := yaml.Unmarshal([]byte("spec: "+test.spec), &typed); err != nil {
				t.Fatal(err)
			}
			if said := flags.Forbidden(&typed); (said == "") != (test.says == "") {
				t.Errorf("by the flags of the operator: %q", said)
			}
		})
	}
}

// TestPolicyLeavesWhatIsThere: an EtcdCluster that was there before the policy may get annotations, and go, and no other spec that is
// outside of it.
func TestPolicyLeavesWhatIsThere(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "limited-later"}}
	if err := server.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	c := written(t, "earlier", "{scheduling: {priorityClassName: high}}")
	c.SetNamespace(namespace.Name)
	if err := server.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	applyLimits(t, namespace.Name)
	c.SetAnnotations(map[string]string{"a": "b"})
	wantAccepted(t, server.Update(t.Context(), c), "an annotation")
	wider := c.DeepCopy()
	wider.Object["spec"].(map[string]any)["size"] = int64(5)
	wantRefused(t, server.Update(t.Context(), wider), "another size", "priorityClassName high")
	wantAccepted(t, server.Delete(t.Context(), c), "its deletion")
}

// applyLimits applies the sample for one namespace, waits until it holds, and returns the flags in its comment. Each test has a
// namespace of its own: a policy that was deleted holds for a moment more.
func applyLimits(t *testing.T, where string) limits.Limits {
	t.Helper()
	text, err := os.ReadFile("../../config/samples/policies/etcdcluster-limits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := strings.Cut(string(text), "\n---\n")
	policy, binding := &admissionregistrationv1.ValidatingAdmissionPolicy{}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
	for document, into := range map[string]any{first: policy, second: binding} {
		if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
			t.Fatal(err)
		}
	}
	binding.Spec.MatchResources = &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: where}},
	}
	policy.Name, binding.Name, binding.Spec.PolicyName = where, where, where
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: where}}
	for _, object := range []client.Object{namespace, policy, binding} {
		if err := client.IgnoreAlreadyExists(server.Create(t.Context(), object)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, object := range []client.Object{binding, policy} {
			if err := server.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		}
	})
	for range 100 {
		c := written(t, "limited", "{podMetadata: {labels: {app: shop}}}")
		c.SetNamespace(where)
		if err = server.Create(t.Context(), c, client.DryRunAll); err != nil {
			return flagsOf(t, first)
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the policy does not hold after ten seconds")
	return limits.Limits{}
}

// flagsOf are those that a comment names, one a line.
func flagsOf(t *testing.T, text string) limits.Limits {
	t.Helper()
	var l limits.Limits
	setters := map[string]func(string) error{
		limits.ImagesFlag: l.Images.Set, limits.PriorityClassesFlag: l.PriorityClasses.Set, limits.TolerationsFlag: l.Tolerations.Set,
		limits.LabelsFlag: l.Labels.Set, limits.AnnotationsFlag: l.Annotations.Set,
	}
	for line := range strings.Lines(text) {
		flag, value, is := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "#")), "=")
		name, dashed := strings.CutPrefix(flag, "--")
		if !is || !dashed {
			continue
		}
		if setters[name] == nil {
			t.Fatalf("there is no flag %s", flag)
		}
		if err := setters[name](value); err != nil {
			t.Fatal(err)
		}
		delete(setters, name)
	}
	if len(setters) > 0 {
		t.Errorf("%d flags are not named", len(setters))
	}
	return l
}
