// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fitDescriptors wants a descriptor for each field right below spec and status, and a field for each descriptor. What they say is
// what the CRD says.
func fitDescriptors(csv, crd object) error {
	for _, owned := range parts(csv, "spec", "customresourcedefinitions", "owned") {
		if text(owned, "name") != nameOf(crd) {
			continue
		}
		schema := schemaOf(crd, text(owned, "version"))
		for _, half := range []string{"spec", "status"} {
			if err := fitHalf(parts(owned, half+"Descriptors"), part(schema, "properties", half)); err != nil {
				return fmt.Errorf("%s of %s: %w", half, text(owned, "kind"), err)
			}
		}
		owned["description"] = text(schema, "description")
		return nil
	}
	return fmt.Errorf("the CSV does not own %s: mark its type in api/ with +operator-sdk:csv:customresourcedefinitions, "+
		"and add its kind to PROJECT", nameOf(crd))
}

func fitHalf(descriptors []object, schema object) error {
	seen := map[string]bool{}
	for _, descriptor := range descriptors {
		path := text(descriptor, "path")
		if seen[path] {
			return fmt.Errorf("%s has two descriptors", path)
		}
		seen[path] = true
		field := fieldAt(schema, path)
		if field == nil {
			return fmt.Errorf("%s has a descriptor, but the CRD has no such field", path)
		}
		descriptor["description"] = text(field, "description")
	}
	for _, field := range slices.Sorted(maps.Keys(part(schema, "properties"))) {
		if !seen[field] {
			return fmt.Errorf("%s has no descriptor: mark it in api/ with +operator-sdk:csv:customresourcedefinitions", field)
		}
	}
	return nil
}

// fieldAt returns the schema of a field such as members[0].name; nil if there is no such field.
func fieldAt(schema object, path string) object {
	for _, step := range strings.Split(path, ".") {
		field, element := strings.CutSuffix(step, "[0]")
		schema = part(schema, "properties", field)
		if element {
			schema = part(schema, "items")
		}
	}
	return schema
}

func schemaOf(crd object, version string) object {
	for _, v := range parts(crd, "spec", "versions") {
		if text(v, "name") == version {
			return part(v, "schema", "openAPIV3Schema")
		}
	}
	return nil
}
