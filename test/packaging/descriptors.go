// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// described is what both kinds of descriptors have in common.
type described struct {
	path, name, description string
	urns                    []string
}

// checkDescriptors wants each top-level field of spec and status described, and no description of a field that there is
// not. Scorecard's olm-spec-descriptors looks only at the fields that the examples happen to use, and its
// olm-status-descriptors is content with one.
func checkDescriptors(b *Bundle, _ Options) []string {
	var all lines
	for _, owned := range b.CSV.Spec.CustomResourceDefinitions.Owned {
		schema := b.schema(owned.Kind, owned.Version)
		if schema == nil {
			all.add("CRD %s has no version %s in the bundle, but the CSV owns it: run 'make bundle'", owned.Name, owned.Version)
			continue
		}
		all = append(all, oddDescriptors(owned.Kind, "spec", schema, specDescriptors(owned))...)
		all = append(all, oddDescriptors(owned.Kind, "status", schema, statusDescriptors(owned))...)
	}
	return all
}

func specDescriptors(owned v1alpha1.CRDDescription) []described {
	var all []described
	for _, d := range owned.SpecDescriptors {
		all = append(all, described{d.Path, d.DisplayName, d.Description, d.XDescriptors})
	}
	return all
}

func statusDescriptors(owned v1alpha1.CRDDescription) []described {
	var all []described
	for _, d := range owned.StatusDescriptors {
		all = append(all, described{d.Path, d.DisplayName, d.Description, d.XDescriptors})
	}
	return all
}

// urn is how OpenShift's console names the ways in which it shows a field.
var urn = regexp.MustCompile(`^urn:alm:descriptor:(com\.tectonic\.ui:.+|io\.kubernetes.+|org\.w3:link|text)$`)

func oddDescriptors(kind, side string, schema *apiextensionsv1.JSONSchemaProps, descriptors []described) []string {
	fields := schema.Properties[side]
	var all lines
	for _, name := range sortedKeys(fields.Properties) {
		if !slices.ContainsFunc(descriptors, func(d described) bool { return d.path == name }) {
			all.add("%s: %s.%s has no descriptor: add the marker +operator-sdk:csv to the field", kind, side, name)
		}
	}
	seen := map[string]bool{}
	for _, d := range descriptors {
		place := fmt.Sprintf("%s: the descriptor of %s.%s", kind, side, d.path)
		switch {
		case !hasPath(&fields, d.path):
			all.add("%s describes a field that the CRD does not have: fix its path", place)
		case seen[d.path]:
			all.add("%s is there twice: remove one", place)
		case d.name == "" || d.description == "":
			all.add("%s has no displayName or no description: add them", place)
		}
		seen[d.path] = true
		for _, text := range d.urns {
			if !urn.MatchString(text) {
				all.add("%s has the x-descriptor %q, which no console knows", place, text)
			}
		}
	}
	return all
}

// hasPath follows a path such as etcd.autoCompaction.mode or members[0].name into a schema.
func hasPath(schema *apiextensionsv1.JSONSchemaProps, path string) bool {
	for _, step := range strings.Split(path, ".") {
		name, _, indexed := strings.Cut(step, "[")
		next, found := schema.Properties[name]
		switch {
		case found:
			schema = &next
		case schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
			schema = schema.AdditionalProperties.Schema
		default:
			return schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields
		}
		if indexed {
			if schema.Items == nil || schema.Items.Schema == nil {
				return false
			}
			schema = schema.Items.Schema
		}
	}
	return true
}
