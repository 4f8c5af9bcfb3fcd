// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
      statusDescriptors:
      - {path: "members", displayName: Members}
      - {path: "members[0].name", displayName: Member}
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
		"no such field":       {strings.Replace(described, "path: storage.size", "path: storage.color", 1), "storage.color has a descriptor"},
		"two of one field":    {strings.Replace(described, "path: storage.size", "path: size", 1), "size has two descriptors"},
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
