// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"slices"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/operator-framework/api/pkg/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Scorecard are the six built-in tests of `operator-sdk scorecard`, as they are there, without pods: errors and suggestions
// by the name of the test. The SDK keeps them in an internal package; the real ones run in the cluster (make scorecard).
// Check asks for more than each of them, so this is for the test that says so.
func Scorecard(b *Bundle) map[string][]string {
	return map[string][]string{
		"basic-check-spec":         missing(b, "spec"),
		"olm-bundle-validation":    append(checkFormat(b, Options{}), validated(b, validation.DefaultBundleValidators)...),
		"olm-crds-have-validation": unknownKeys(b),
		"olm-crds-have-resources":  withoutResources(b),
		"olm-spec-descriptors":     undescribed(b),
		"olm-status-descriptors":   append(missing(b, "status"), withoutStatusDescriptors(b)...),
	}
}

func missing(b *Bundle, side string) []string {
	var all lines
	for _, example := range b.Examples {
		if keys, _, _ := unstructured.NestedMap(example.Object, side); len(keys) == 0 {
			all.add("%s has no %s", example.GetName(), side)
		}
	}
	return all
}

func unknownKeys(b *Bundle) []string {
	var all lines
	for _, example := range b.Examples {
		schema := b.schema(example.GetKind(), example.GroupVersionKind().Version)
		if schema == nil {
			continue
		}
		for _, side := range []string{"spec", "status"} {
			keys, _, _ := unstructured.NestedMap(example.Object, side)
			for _, key := range sortedKeys(keys) {
				if _, found := schema.Properties[side].Properties[key]; !found {
					all.add("%s: %s.%s has no validation", example.GetName(), side, key)
				}
			}
		}
	}
	return all
}

func withoutResources(b *Bundle) []string {
	var all lines
	for _, owned := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		if len(owned.Resources) == 0 {
			all = append(all, owned.Name+" has no resources")
		}
	}
	return all
}

func owner(b *Bundle, example unstructured.Unstructured) v1alpha1.CRDDescription {
	for _, owned := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		if owned.Kind == example.GetKind() && owned.Version == example.GroupVersionKind().Version {
			return owned
		}
	}
	return v1alpha1.CRDDescription{}
}

func undescribed(b *Bundle) []string {
	var all lines
	for _, example := range b.Examples {
		descriptors := owner(b, example).SpecDescriptors
		keys, _, _ := unstructured.NestedMap(example.Object, "spec")
		for _, key := range sortedKeys(keys) {
			if !slices.ContainsFunc(descriptors, func(d v1alpha1.SpecDescriptor) bool { return d.Path == key }) {
				all = append(all, key+" has no spec descriptor")
			}
		}
	}
	return all
}

func withoutStatusDescriptors(b *Bundle) []string {
	var all lines
	for _, example := range b.Examples {
		if len(owner(b, example).StatusDescriptors) == 0 {
			all = append(all, example.GetKind()+" has no status descriptor")
		}
	}
	return all
}
