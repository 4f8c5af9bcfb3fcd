// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Both versions accept, refuse and show the same, but for documentation.
func TestVersionsHaveOneSchema(t *testing.T) {
	files, err := filepath.Glob("../../config/crd/bases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CustomResourceDefinitions: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			crd := read(t, file)
			current, earlier := crd.Spec.Versions[0], crd.Spec.Versions[1]
			if current.Name != "v1beta1" || !current.Served || current.Storage || current.Deprecated {
				t.Errorf("%s: served %v, stored %v, deprecated %v", current.Name, current.Served, current.Storage, current.Deprecated)
			}
			if earlier.Name != "v1alpha1" || !earlier.Served || !earlier.Storage || !earlier.Deprecated {
				t.Errorf("%s: served %v, stored %v, deprecated %v", earlier.Name, earlier.Served, earlier.Storage, earlier.Deprecated)
			}
			if crd.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
				t.Errorf("conversion by %s", crd.Spec.Conversion.Strategy)
			}
			if !reflect.DeepEqual(bare(t, current), bare(t, earlier)) {
				t.Error("the versions differ in more than documentation")
			}
		})
	}
}

// A property that is called description is no documentation.
func TestPropertiesStay(t *testing.T) {
	schema := map[string]any{
		"description": "gone",
		"properties":  map[string]any{"description": map[string]any{"type": "string", "description": "gone"}},
	}
	want := map[string]any{"properties": map[string]any{"description": map[string]any{"type": "string"}}}
	if got := withoutDescriptions(schema, false); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestServedTwice(t *testing.T) {
	written, err := os.ReadFile("../../config/crd/bases/etcd-operator.dev_etcdroles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := map[string]any{}
	if err := yaml.Unmarshal(written, &crd); err != nil {
		t.Fatal(err)
	}
	if err := serveEarlier(crd); err == nil {
		t.Error("a third version was added")
	}
}

func read(t *testing.T, file string) apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	crd := apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(written, &crd); err != nil {
		t.Fatal(err)
	}
	if len(crd.Spec.Versions) != 2 {
		t.Fatalf("%d versions", len(crd.Spec.Versions))
	}
	return crd
}

// bare is what a version does, without its name and documentation.
func bare(t *testing.T, version apiextensionsv1.CustomResourceDefinitionVersion) any {
	t.Helper()
	written, err := yaml.Marshal(version)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := yaml.Unmarshal(written, &all); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"name", "storage", "deprecated"} {
		delete(all, key)
	}
	all["schema"] = everywhere(all["schema"])
	return all
}

// everywhere is a schema without any documentation, also where the deprecated version keeps it.
func everywhere(schema any) any {
	switch of := schema.(type) {
	case map[string]any:
		for key, value := range of {
			if _, isText := value.(string); key == "description" && isText {
				delete(of, key)
				continue
			}
			of[key] = everywhere(value)
		}
	case []any:
		for i := range of {
			of[i] = everywhere(of[i])
		}
	}
	return schema
}
