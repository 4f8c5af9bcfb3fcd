// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// harmless are the defaults that the API server adds to EtcdClusters which an earlier release has stored, and why nothing happens to their
// members for it. A default by which something does is none of the schema: it goes into formedWith (docs/adr/0084).
var harmless = map[string]string{
	"spec.drills":                                   "nothing may simulate failures",
	"spec.maintenance":                              "an object for those below",
	"spec.maintenance.corruptionCheck":              "etcd's part counts for new Pods; members are compared where that takes at most 100 ms",
	"spec.maintenance.defragmentation":              "an object for those below",
	"spec.maintenance.defragmentation.freePercent":  "a limit of what mode does",
	"spec.maintenance.defragmentation.minFree":      "a limit of what mode does",
	"spec.maintenance.defragmentation.quotaPercent": "a limit of what mode does",
	"spec.recovery":                                 "an object for those below",
	"spec.recovery.memberTimeout":                   "what the first release did",
	"spec.recovery.quorumLoss":                      "Manual: nothing is done",
	"spec.recovery.slowMemberTimeout":               "a limit of what slowMembers does",
	"spec.recovery.slowMembers":                     "Keep: nothing is done",
	"spec.storage.quarantine":                       "data of removed members is kept longer",
	"spec.tuning":                                   "Advise: the status says more",
	"spec.upgrade":                                  "an object for those below",
	"spec.upgrade.onFailure":                        "Halt: what the first release did",
}

// formedWith are the defaults that count only for clusters whose first members this release has chosen, by the field of status.bootstrap
// that says so. The fields of the spec have no default in the schema.
var formedWith = map[string][]string{
	"networkPolicy": {"spec.networkPolicy.mode"},
	"requests":      {"spec.resources"},
	"defragRoom":    {"spec.etcd.quota"},
	"maintenance":   {"spec.maintenance.defragmentation.mode", "spec.maintenance.noSpace"},
}

// TestNewDefaultsAreHarmless: an update of the operator adds no default to a stored EtcdCluster that nobody has thought about.
func TestNewDefaultsAreHarmless(t *testing.T) {
	now := schemaOf(t, "../../config/crd/bases/etcd-operator.dev_etcdclusters.yaml")
	released, err := filepath.Glob("../../releases/unpublished/v*/manifests/etcd-operator.dev_etcdclusters.yaml")
	if err != nil || len(released) == 0 {
		t.Fatal("no releases", err)
	}
	added := map[string]string{}
	for _, file := range released {
		was := schemaOf(t, file)
		for path, of := range now {
			_, known := was[path]
			if of.Default != nil && !known && isAdded(path, was, now) {
				added[path] = file
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(added)), slices.Sorted(maps.Keys(harmless)); !slices.Equal(got, want) {
		t.Errorf("the API server adds to stored objects\n%s\nand this test knows\n%s\na default by which members restart, or their clients "+
			"notice something, belongs in formedWith", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestDefaultsOfNewClusters: what status.bootstrap decides has no default in the schema, which would count for every cluster.
func TestDefaultsOfNewClusters(t *testing.T) {
	now := schemaOf(t, "../../config/crd/bases/etcd-operator.dev_etcdclusters.yaml")
	for path, of := range now {
		field, is := strings.CutPrefix(path, "status.bootstrap.")
		if is && of.Type == "boolean" && field != "adopted" && formedWith[field] == nil {
			t.Errorf("%s: which default does it decide?", path)
		}
	}
	for field, paths := range formedWith {
		if _, there := now["status.bootstrap."+field]; !there {
			t.Errorf("status.bootstrap has no %s", field)
		}
		for _, path := range paths {
			if of, there := now[path]; !there || of.Default != nil {
				t.Errorf("%s is there: %t, with the default %v", path, there, of.Default)
			}
		}
	}
}

// isAdded says whether a default is added to objects of an earlier release: to an object that they may have, or one that is a default too.
func isAdded(path string, was, now map[string]apiextensions.JSONSchemaProps) bool {
	for i := strings.LastIndex(path, "."); i >= 0; i = strings.LastIndex(path, ".") {
		path = path[:i]
		if _, known := was[path]; known {
			return true
		}
		if now[path].Default == nil {
			return false
		}
	}
	return true
}

// schemaOf is every field of the version in which a CRD stores objects, by its path. Items of a list have the path of the list with [].
func schemaOf(t *testing.T, file string) map[string]apiextensions.JSONSchemaProps {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensions.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	fields := map[string]apiextensions.JSONSchemaProps{}
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			fieldsBelow("", *v.Schema.OpenAPIV3Schema, fields)
		}
	}
	return fields
}

func fieldsBelow(path string, of apiextensions.JSONSchemaProps, fields map[string]apiextensions.JSONSchemaProps) {
	if path != "" {
		fields[path] = of
	}
	for name, property := range of.Properties {
		fieldsBelow(strings.TrimPrefix(path+"."+name, "."), property, fields)
	}
	if of.Items != nil && of.Items.Schema != nil {
		fieldsBelow(path+"[]", *of.Items.Schema, fields)
	}
}
