// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// fitDescriptors drops descriptors of fields that a CRD does not have, which an older release may not, and wants one for each
// field right below spec and status. What they say is what the CRD says.
func fitDescriptors(csv, crd object) error {
	for _, owned := range parts(csv, "spec", "customresourcedefinitions", "owned") {
		if text(owned, "name") != nameOf(crd) {
			continue
		}
		schema := schemaOf(crd, text(owned, "version"))
		for _, half := range []string{"spec", "status"} {
			fitted, err := fitHalf(parts(owned, half+"Descriptors"), part(schema, "properties", half))
			if err != nil {
				return fmt.Errorf("%s of %s: %w", half, text(owned, "kind"), err)
			}
			owned[half+"Descriptors"] = list(fitted)
		}
		owned["description"] = text(schema, "description")
		return nil
	}
	return fmt.Errorf("the CSV does not own %s: mark its type in api/ with +operator-sdk:csv:customresourcedefinitions", nameOf(crd))
}

func fitHalf(descriptors []object, schema object) ([]object, error) {
	var fitted []object
	seen := map[string]bool{}
	for _, descriptor := range descriptors {
		path := text(descriptor, "path")
		if seen[path] {
			return nil, fmt.Errorf("%s has two descriptors", path)
		}
		seen[path] = true
		if field := fieldAt(schema, path); field != nil {
			descriptor["description"] = text(field, "description")
			fitted = append(fitted, descriptor)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(part(schema, "properties"))) {
		if !seen[field] {
			return nil, fmt.Errorf("%s has no descriptor: mark it in api/ with +operator-sdk:csv:customresourcedefinitions", field)
		}
	}
	return fitted, nil
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

// prune returns a copy of a value with only what a schema has.
func prune(value, schema object) object {
	pruned := object{}
	for key, inner := range value {
		if field := part(schema, "properties", key); field != nil {
			pruned[key] = pruneAny(inner, field)
		}
	}
	return pruned
}

func pruneAny(value any, schema object) any {
	switch v := value.(type) {
	case object:
		if part(schema, "properties") == nil {
			return v // a map with keys of the user's choice
		}
		return prune(v, schema)
	case []any:
		pruned := make([]any, 0, len(v))
		for _, element := range v {
			pruned = append(pruned, pruneAny(element, part(schema, "items")))
		}
		return pruned
	default:
		return v
	}
}

func schemaOf(crd object, version string) object {
	for _, v := range parts(crd, "spec", "versions") {
		if text(v, "name") == version {
			return part(v, "schema", "openAPIV3Schema")
		}
	}
	return nil
}
