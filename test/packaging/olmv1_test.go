// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/operator-framework/operator-registry/alpha/declcfg"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const samples = top + "/config/samples/olmv1"

// What the samples for OLM v1 ask for must be in the catalog, and the account that installs must be allowed to.
func TestSamplesForOLMv1(t *testing.T) {
	for _, object := range documents(t, "clusterextension.yaml") {
		if object.GetKind() != "ClusterExtension" {
			continue
		}
		name, _, _ := unstructured.NestedString(object.Object, "spec", "source", "catalog", "packageName")
		channels, _, _ := unstructured.NestedStringSlice(object.Object, "spec", "source", "catalog", "channels")
		content, err := declcfg.LoadFS(t.Context(), os.DirFS(filepath.Join(top, "catalog")))
		if err != nil {
			t.Fatal(err)
		}
		if name != content.Packages[0].Name || len(channels) == 0 {
			t.Errorf("it installs %q from the channels %v", name, channels)
		}
		for _, wanted := range channels {
			if !slices.ContainsFunc(content.Channels, func(c declcfg.Channel) bool { return c.Name == wanted }) {
				t.Errorf("there is no channel %s", wanted)
			}
		}
	}
}

// resources are those of the kinds that OLM v1 makes of a bundle.
var resources = map[string]rbacv1.PolicyRule{
	"ClusterServiceVersion":    {},
	"CustomResourceDefinition": {APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}},
	"ClusterRole":              {APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterroles"}},
	"ClusterRoleBinding":       {APIGroups: []string{rbacv1.GroupName}, Resources: []string{"clusterrolebindings"}},
	"Role":                     {APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}},
	"RoleBinding":              {APIGroups: []string{rbacv1.GroupName}, Resources: []string{"rolebindings"}},
	"Service":                  {APIGroups: []string{""}, Resources: []string{"services"}},
	"ServiceAccount":           {APIGroups: []string{""}, Resources: []string{"serviceaccounts"}},
	"Deployment":               {APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
	"PodDisruptionBudget":      {APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}},
}

func TestTheInstallerMayMakeWhatIsInTheBundle(t *testing.T) {
	var granted []rbacv1.PolicyRule
	for _, object := range documents(t, "clusterextension-installer.yaml") {
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatal(err)
		}
		granted = append(granted, role.Rules...)
	}
	may := atoms(granted)
	kinds := []string{"ServiceAccount", "Deployment", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
	for _, object := range load(t, current).Raw.Objects {
		kinds = append(kinds, object.GetKind())
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		named := resources["CustomResourceDefinition"]
		named.ResourceNames, named.Verbs = []string{object.GetName()}, []string{"get", "update", "patch", "delete"}
		for _, right := range atoms([]rbacv1.PolicyRule{named}) {
			if !slices.Contains(may, right) {
				t.Errorf("the installer may not %s", right)
			}
		}
	}
	for _, kind := range kinds {
		needed, known := resources[kind]
		if !known {
			t.Errorf("%s is in the bundle: say here by which right it is made, and give it to the installer", kind)
		}
		needed.Verbs = []string{"create", "list", "watch"}
		for _, right := range atoms([]rbacv1.PolicyRule{needed}) {
			if !slices.Contains(may, right) {
				t.Errorf("the installer may not %s", right)
			}
		}
	}
}

func documents(t *testing.T, file string) []unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(samples, file))
	if err != nil {
		t.Fatal(err)
	}
	var all []unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096); ; {
		var object unstructured.Unstructured
		err := decoder.Decode(&object)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
}
