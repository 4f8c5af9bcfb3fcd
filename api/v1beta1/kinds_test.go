// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// known are the types of all kinds that users write.
func known(t *testing.T) map[string]reflect.Type {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	types, all := scheme.KnownTypes(v1beta1.GroupVersion), map[string]reflect.Type{}
	for kind, of := range types {
		if types[kind+"List"] != nil {
			all[kind] = of
		}
	}
	return all
}

// crds are the plurals of all kinds that have a CRD.
func crds(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, text := range match(t, "config/crd/bases/*.yaml") {
		var crd struct {
			Spec struct{ Names struct{ Kind, Plural string } }
		}
		if err := yaml.Unmarshal([]byte(text), &crd); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[crd.Spec.Names.Kind] = crd.Spec.Names.Plural
	}
	return all
}

// TestEveryKindIsListed: files that are written by hand list all kinds, and generators leave out, without a word, what they do not find
// there. Each complaint says what to add.
func TestEveryKindIsListed(t *testing.T) {
	plurals, types := crds(t), known(t)
	for kind := range types {
		if plurals[kind] == "" {
			t.Errorf("config/crd/bases has no CRD of %s: mark the type with +kubebuilder:object:root=true and run make manifests", kind)
		}
	}
	for kind, plural := range plurals {
		if types[kind] == nil {
			t.Errorf("api/v1beta1/groupversion_info.go: add %s and its list to AddToScheme", kind)
		}
		group := v1beta1.GroupVersion.Group
		sample := group + "_" + v1beta1.GroupVersion.Version + "_" + strings.ToLower(kind) + ".yaml"
		wantLine(t, "PROJECT", "  kind: "+kind+"\n")
		wantLine(t, "config/crd/kustomization.yaml", "- bases/"+group+"_"+plural+".yaml\n")
		wantLine(t, "config/rbac/etcdcluster_*_role.yaml", `"`+plural+`"`)
		wantLine(t, "config/rbac/etcdcluster_*_role.yaml", `"`+plural+`/status"`)
		wantLine(t, "config/samples/kustomization.yaml", "- "+sample+"\n")
		wantLine(t, "config/samples/olmv1/clusterextension-installer.yaml", "  - "+plural+"."+group+"\n")
	}
}

// wantLine wants that line, or part of one, in all files of that pattern.
func wantLine(t *testing.T, pattern, line string) {
	t.Helper()
	for name, text := range match(t, pattern) {
		if !strings.Contains(text, line) {
			t.Errorf("%s: add %s, where it has other kinds", name, strings.TrimSpace(line))
		}
	}
}

// match are the texts of all files of that pattern, by their names in the repository.
func match(t *testing.T, pattern string) map[string]string {
	t.Helper()
	const top = "../.."
	paths, err := filepath.Glob(filepath.Join(top, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
	}
	all := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(filepath.ToSlash(path), top+"/")] = string(text)
	}
	return all
}
