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
	"strings"
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

// A made is a kind that OLM v1 makes of a bundle: its group and resource, and whether it is in a namespace.
type made struct {
	group, resource string
	namespaced      bool
}

var makes = map[string]made{
	"ClusterServiceVersion":    {}, // makes the six below
	"CustomResourceDefinition": {group: "apiextensions.k8s.io", resource: "customresourcedefinitions"},
	"ClusterRole":              {group: rbacv1.GroupName, resource: "clusterroles"},
	"ClusterRoleBinding":       {group: rbacv1.GroupName, resource: "clusterrolebindings"},
	"Role":                     {group: rbacv1.GroupName, resource: "roles", namespaced: true},
	"RoleBinding":              {group: rbacv1.GroupName, resource: "rolebindings", namespaced: true},
	"Service":                  {resource: "services", namespaced: true},
	"ServiceAccount":           {resource: "serviceaccounts", namespaced: true},
	"Deployment":               {group: "apps", resource: "deployments", namespaced: true},
	"PodDisruptionBudget":      {group: "policy", resource: "poddisruptionbudgets", namespaced: true},
}

// needed is what the account that installs a bundle must be allowed to, everywhere and in the namespace of the operator: to make, watch
// and delete what is in it, and to give roles rights that the account has not.
func needed(t *testing.T, b *Bundle) (everywhere, inside []string) {
	t.Helper()
	watch, change := []string{"create", "list", "watch"}, []string{"get", "update", "patch", "delete"}
	all := []rbacv1.PolicyRule{{
		APIGroups: []string{"olm.operatorframework.io"}, Resources: []string{"clusterextensions/finalizers"},
		ResourceNames: []string{"etcd-operator"}, Verbs: []string{"update"},
	}}
	var local []rbacv1.PolicyRule
	names := []string{"ServiceAccount", "Deployment", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}
	for _, object := range b.Raw.Objects {
		names = append(names, object.GetKind())
	}
	for _, name := range names {
		kind, known := makes[name]
		if !known {
			t.Errorf("%s is in the bundle: say here by which right it is made, and give it to the installer", name)
		}
		rule := rbacv1.PolicyRule{APIGroups: []string{kind.group}, Resources: []string{kind.resource}, Verbs: watch}
		if kind.resource != "customresourcedefinitions" {
			rule.Verbs = slices.Concat(watch, change)
		}
		if strings.HasSuffix(name, "Role") {
			rule.Verbs = append(rule.Verbs, "bind", "escalate")
		}
		switch {
		case kind.resource == "":
			continue
		case kind.namespaced:
			local = append(local, rule)
			rule.Verbs = []string{"list", "watch"} // of what it has made, in all namespaces
		}
		all = append(all, rule)
	}
	for _, crd := range b.Raw.V1CRDs {
		all = append(all, rbacv1.PolicyRule{
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"},
			ResourceNames: []string{crd.Name}, Verbs: change,
		})
	}
	return atoms(all), atoms(local)
}

// granted is what the sample lets the account, everywhere and in the namespace of the operator.
func granted(t *testing.T) (everywhere, inside []string) {
	t.Helper()
	var all, local []rbacv1.PolicyRule
	for _, object := range documents(t, "clusterextension-installer.yaml") {
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatal(err)
		}
		if role.Namespace == "" {
			all = append(all, role.Rules...)
		} else {
			local = append(local, role.Rules...)
		}
	}
	return atoms(all), atoms(local)
}

func TestTheInstallerMayMakeWhatIsInTheBundleAndNothingElse(t *testing.T) {
	needs, needsInside := needed(t, load(t, current))
	may, mayInside := granted(t)
	for _, right := range without(needs, may) {
		t.Errorf("the installer may not %s: give it that right, and say in CHANGELOG.md that the update needs it", right)
	}
	for _, right := range without(needsInside, mayInside) {
		t.Errorf("the installer may not %s in its namespace", right)
	}
	for _, right := range slices.Concat(without(may, needs), without(mayInside, needsInside)) {
		t.Errorf("the installer needs no right to %s", right)
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
