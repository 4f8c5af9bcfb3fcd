// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"encoding/json"
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const chart = top + "/charts/etcd-operator"

// helmProgram is where Go keeps Helm, as it is pinned, after it was built: to ask Go each time takes seconds.
var helmProgram = sync.OnceValues(func() (string, error) {
	path, err := exec.Command("go", "-C", top+"/hack/tools/helm", "tool", "-n", "helm").Output()
	return strings.TrimSpace(string(path)), err
})

// helm runs it.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	folder, err := filepath.Abs(chart)
	if err != nil {
		t.Fatal(err)
	}
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "CHART", folder)
	}
	program, err := helmProgram()
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	return string(output), err
}

// templated is what `helm template` makes of values in YAML, by kind, namespace and name.
func templated(t *testing.T, name, namespace, values string) (map[string]*unstructured.Unstructured, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	write(t, file, values)
	text, err := helm(t, "template", name, "CHART", "--namespace", namespace, "--kube-version", "1.30.0", "--values", file)
	if err != nil {
		return nil, &refusal{text}
	}
	all := map[string]*unstructured.Unstructured{}
	for _, one := range strings.Split("\n"+text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(one), &object.Object); err != nil {
			t.Fatalf("%v: %s", err, one)
		}
		if object.Object != nil {
			all[keyOf(object)] = object
		}
	}
	return all, nil
}

type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func keyOf(object *unstructured.Unstructured) string {
	return strings.Join(strings.Fields(object.GetKind()+" "+object.GetNamespace()+" "+object.GetName()), " ")
}

// installed is what a release of the default name has.
func installed(t *testing.T, values string) map[string]*unstructured.Unstructured {
	t.Helper()
	all, err := templated(t, "etcd-operator", "etcd-operator-system", values)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// manifest is what `make install-manifest` writes, without the Namespace, in which Helm keeps the release.
func manifest(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for _, object := range rendered(t, "{resources: [CONFIG/default]}") {
		if object.GetKind() != "Namespace" {
			all[keyOf(object)] = object
		}
	}
	return all
}

// withoutHelm takes away what says that Helm has made an object.
func withoutHelm(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	delete(labels, "helm.sh/chart")
	labels["app.kubernetes.io/managed-by"] = "kustomize"
	delete(annotations, "helm.sh/resource-policy")
	object.SetLabels(labels)
	object.SetAnnotations(annotations)
	return object
}

// TestTheChartInstallsWhatTheManifestDoes: so that one takes over what the other has installed.
func TestTheChartInstallsWhatTheManifestDoes(t *testing.T) {
	ours, want := installed(t, ""), manifest(t)
	if got, want := slices.Sorted(maps.Keys(ours)), slices.Sorted(maps.Keys(want)); !slices.Equal(got, want) {
		t.Fatalf("the chart installs\n%q, the manifest\n%q", got, want)
	}
	for name, object := range ours {
		if object.GetLabels()["app.kubernetes.io/managed-by"] != "Helm" {
			t.Errorf("%s has the labels %v", name, object.GetLabels())
		}
		keeps := object.GetAnnotations()["helm.sh/resource-policy"] == "keep"
		if keeps != (object.GetKind() == "CustomResourceDefinition") {
			t.Errorf("%s stays when the release is uninstalled: %v", name, keeps)
		}
		if got := withoutHelm(object); !reflect.DeepEqual(got.Object, want[name].Object) {
			t.Errorf("%s is\n%v, in the manifest\n%v", name, got.Object, want[name].Object)
		}
	}
}

// TestAnotherReleaseSharesNothing: names follow the release, so that two operators for namespaces of their own do not meet.
func TestAnotherReleaseSharesNothing(t *testing.T) {
	other, err := templated(t, "second", "platform", "{crds: {install: false}, watchNamespaces: [team-a]}")
	if err != nil {
		t.Fatal(err)
	}
	for name, object := range other {
		if namespace := object.GetNamespace(); !strings.HasPrefix(object.GetName(), "second-") ||
			namespace != "" && namespace != "platform" && namespace != "team-a" {
			t.Errorf("%s is not of that release", name)
		}
		text, err := json.Marshal(object)
		if err != nil || strings.Contains(string(text), "etcd-operator-system") || strings.Contains(string(text), `"name":"etcd-operator-`) {
			t.Errorf("%s names what is not of that release: %s", name, text)
		}
	}
	if _, err := templated(t, "a-name-that-is-rather-too-long", "platform", ""); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a name that is too long: %v", err)
	}
}
