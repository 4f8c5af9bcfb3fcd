// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

const described = `
kind: ClusterServiceVersion
metadata: {name: operator.v0.0.0}
spec:
  customresourcedefinitions:
    owned:
    - name: clusters.example.dev
      kind: Cluster
      version: v1
      specDescriptors:
      - {path: size, displayName: Size, description: of tomorrow}
      - {path: storage, displayName: Storage}
      - {path: storage.size, displayName: Volume Size}
      - {path: storage.color, displayName: Color}
      - {path: paused, displayName: Paused}
      statusDescriptors:
      - {path: "members", displayName: Members}
      - {path: "members[0].name", displayName: Member}
      - {path: "members[0].mood", displayName: Mood}
`

const defined = `
kind: CustomResourceDefinition
metadata: {name: clusters.example.dev}
spec:
  group: example.dev
  names: {kind: Cluster}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: a cluster
        properties:
          spec:
            properties:
              size: {type: integer, description: of today}
              storage: {properties: {size: {type: string}}}
              flags: {additionalProperties: {type: string}}
          status:
            properties:
              members: {type: array, items: {properties: {name: {type: string}}}}
`

func descriptorsOf(t *testing.T, csv object, half string) string {
	t.Helper()
	var paths []string
	for _, owned := range parts(csv, "spec", "customresourcedefinitions", "owned") {
		for _, descriptor := range parts(owned, half+"Descriptors") {
			paths = append(paths, text(descriptor, "path"))
		}
	}
	return strings.Join(paths, " ")
}

func TestDescriptorsFitTheCRD(t *testing.T) {
	csv := objectsOf(t, described)[0]
	crd := objectsOf(t, strings.Replace(defined, "              flags", "              # flags", 1))[0]
	if err := fitDescriptors(csv, crd); err != nil {
		t.Fatal(err)
	}
	if got, want := descriptorsOf(t, csv, "spec"), "size storage storage.size"; got != want {
		t.Errorf("spec: %s, want %s", got, want)
	}
	if got, want := descriptorsOf(t, csv, "status"), "members members[0].name"; got != want {
		t.Errorf("status: %s, want %s", got, want)
	}
	owned := parts(csv, "spec", "customresourcedefinitions", "owned")[0]
	if got := text(parts(owned, "specDescriptors")[0], "description"); got != "of today" {
		t.Errorf("size is described as %q, want the words of the CRD", got)
	}
	if got := text(owned, "description"); got != "a cluster" {
		t.Errorf("the kind is described as %q, want the words of the CRD", got)
	}
}

func TestDescriptorsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct{ csv, says string }{
		"a field without one": {described, "spec of Cluster: flags has no descriptor"},
		"two of one field":    {strings.Replace(described, "path: paused", "path: size", 1), "size has two descriptors"},
		"a kind not owned":    {strings.Replace(described, "clusters.example", "backups.example", 1), "does not own clusters.example.dev"},
	} {
		t.Run(name, func(t *testing.T) {
			err := fitDescriptors(objectsOf(t, c.csv)[0], objectsOf(t, defined)[0])
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error is %v, want one that says %s", err, c.says)
			}
		})
	}
}

func TestPrune(t *testing.T) {
	schema := schemaOf(objectsOf(t, defined)[0], "v1")
	value, err := parse([]byte(`
spec: {size: 3, color: red, flags: {any: thing}}
status: {members: [{name: a, mood: good}], phase: new}
other: 1
`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(prune(value, schema))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"spec":{"flags":{"any":"thing"},"size":3},"status":{"members":[{"name":"a"}]}}`
	if string(got) != want {
		t.Errorf("pruned to %s, want %s", got, want)
	}
}
