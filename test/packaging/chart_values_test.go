// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// manager is the operator's Deployment and its only container.
func manager(t *testing.T, all map[string]*unstructured.Unstructured) (appsv1.DeploymentSpec, corev1.PodSpec, corev1.Container) {
	t.Helper()
	var d appsv1.Deployment
	object := all["Deployment etcd-operator-system etcd-operator-controller-manager"]
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, &d, true); err != nil {
		t.Fatal(err)
	}
	return d.Spec, d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
}

func variable(c corev1.Container, name string) *corev1.EnvVar {
	if i := slices.IndexFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == name }); i >= 0 {
		return &c.Env[i]
	}
	return nil
}

func TestNamespacesOfTheChart(t *testing.T) {
	all := installed(t, "watchNamespaces: [team-a, team-b]")
	_, _, container := manager(t, all)
	if v := variable(container, "WATCH_NAMESPACE"); v == nil || v.Value != "team-a,team-b" || v.ValueFrom != nil {
		t.Errorf("WATCH_NAMESPACE is %v", v)
	}
	if all["ClusterRoleBinding etcd-operator-manager-rolebinding"] != nil {
		t.Error("the role is bound for all namespaces")
	}
	whole := manifest(t)["ClusterRoleBinding etcd-operator-manager-rolebinding"]
	for _, namespace := range []string{"team-a", "team-b"} {
		binding := all["RoleBinding "+namespace+" etcd-operator-manager-rolebinding"]
		if binding == nil {
			t.Fatalf("the role is not bound in %s: %q", namespace, slices.Sorted(maps.Keys(all)))
		}
		for _, field := range []string{"roleRef", "subjects"} {
			if !reflect.DeepEqual(binding.Object[field], whole.Object[field]) {
				t.Errorf("%s is %v", field, binding.Object[field])
			}
		}
	}
	if all["ClusterRoleBinding etcd-operator-manager-cluster-rolebinding"] == nil {
		t.Error("what is in no namespace is bound nowhere")
	}
}

func TestImageOfTheChart(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for values, want := range map[string]string{
		"image: {repository: mirror.example/etcd-operator}":         "mirror.example/etcd-operator:v0.8.0",
		"image: {repository: mirror.example/x, tag: v9}":            "mirror.example/x:v9",
		"image: {repository: m.example:5000/x, digest: DIGEST}":     "m.example:5000/x@" + digest,
		"image: {repository: m.example/x, tag: v9, digest: DIGEST}": "m.example/x@" + digest,
	} {
		_, _, container := manager(t, installed(t, strings.ReplaceAll(values, "DIGEST", digest)))
		if version := regexp.MustCompile(`:v0\.\d+\.\d+(-dev)?$`); version.ReplaceAllString(container.Image, ":v0.8.0") != want {
			t.Errorf("%s: the image is %s", values, container.Image)
		}
	}
}

// TestImageOfAReleasedChart: the digest of its own image is in the chart, and not among the values, which people keep from one release
// to the next.
func TestImageOfAReleasedChart(t *testing.T) {
	folder, digest := filepath.Join(t.TempDir(), "chart"), "sha256:"+strings.Repeat("b", 64)
	if err := os.CopyFS(folder, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	about, err := os.ReadFile(folder + "/Chart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder+"/Chart.yaml", string(about)+"annotations:\n  etcd-operator.dev/image-digest: "+digest+"\n")
	for value, want := range map[string]string{
		"image.repository=m.example/x": "image: 'm.example/x@" + digest + "'\n", "image.tag=v9": "etcd-operator:v9'\n",
	} {
		if text, err := helm(t, "template", folder, "--kube-version", "1.30.0", "--generate-name", "--set", value); err != nil ||
			!strings.Contains(text, want) {
			t.Errorf("%s: no %q, %v", value, want, err)
		}
	}
}

// TestEtcdImagesOfTheChart: a mirror by digest, for one version or for each; the others are as in the manifest, and none is there twice.
func TestEtcdImagesOfTheChart(t *testing.T) {
	_, _, plain := manager(t, manifest(t))
	_, _, container := manager(t, installed(t, `
etcdImages: {3.6.16: "m.example/etcd@sha256:a", 3.6.10: "m.example/etcd@sha256:b"}
extraEnv: [{name: RELATED_IMAGE_ETCD_3_7_3, value: "m.example/etcd@sha256:c"}]
`))
	want := map[string]string{}
	for _, v := range plain.Env {
		if strings.HasPrefix(v.Name, "RELATED_IMAGE_") {
			want[v.Name] = v.Value
		}
	}
	if len(want) == 0 {
		t.Fatal("the manifest names no image of etcd")
	}
	for version, digest := range map[string]string{"3_6_16": "a", "3_6_10": "b", "3_7_3": "c"} {
		want["RELATED_IMAGE_ETCD_"+version] = "m.example/etcd@sha256:" + digest
	}
	for _, v := range container.Env {
		if !strings.HasPrefix(v.Name, "RELATED_IMAGE_") {
			continue
		}
		if v.Value != want[v.Name] {
			t.Errorf("%s is %q, or there twice; want %q", v.Name, v.Value, want[v.Name])
		}
		delete(want, v.Name)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestValuesOfTheChart(t *testing.T) {
	all := installed(t, `
image: {pullPolicy: Always, pullSecrets: [{name: registry}]}
replicas: 3
limits:
  images: [registry.example/etcd:*, registry.example/team/*]
  priorityClasses: [etcd]
  tolerations: ["dedicated=etcd:NoSchedule"]
  labels: [team]
  annotations: [example.com/*]
  storeEndpoints: ["https://storage.example:9000"]
resources: {requests: {cpu: 100m}, limits: {memory: 1Gi}}
monitoring: {serviceMonitorLabels: {release: prometheus, team: db}, certificateSecret: metrics}
networkPolicy: {enabled: false}
nodeSelector: {role: infra}
tolerations: [{key: infra, operator: Exists, effect: NoSchedule}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: []}]}}}
extraArgs: [--zap-log-level=debug]
extraEnv: [{name: RELATED_IMAGE_ETCD_3_6_16, value: mirror.example/etcd:v3.6.16}]
`)
	spec, pod, container := manager(t, all)
	_, _, plain := manager(t, manifest(t))
	if want := append(plain.Args,
		"--allowed-annotations=example.com/*", "--allowed-images=registry.example/etcd:*,registry.example/team/*", "--allowed-labels=team",
		"--allowed-priority-classes=etcd", "--allowed-store-endpoints=https://storage.example:9000",
		"--allowed-tolerations=dedicated=etcd:NoSchedule", "--zap-log-level=debug"); !slices.Equal(container.Args, want) {
		t.Errorf("the arguments are %q", container.Args)
	}
	for name, want := range map[string]string{
		"SERVICE_MONITOR_LABELS": "release=prometheus,team=db", "METRICS_CERT_PATH": "/metrics-certificate",
		"RELATED_IMAGE_ETCD_3_6_16": "mirror.example/etcd:v3.6.16",
	} {
		if v := variable(container, name); v == nil || v.Value != want {
			t.Errorf("%s is %v", name, v)
		}
	}
	wantMounted(t, pod, "metrics")
	resources, _ := json.Marshal(container.Resources)
	for what, is := range map[string]bool{
		"replicas":       *spec.Replicas == 3,
		"pull policy":    container.ImagePullPolicy == corev1.PullAlways,
		"pull secrets":   reflect.DeepEqual(pod.ImagePullSecrets, []corev1.LocalObjectReference{{Name: "registry"}}),
		"resources":      string(resources) == `{"limits":{"memory":"1Gi"},"requests":{"cpu":"100m","memory":"64Mi"}}`,
		"node selector":  pod.NodeSelector["role"] == "infra",
		"tolerations":    len(pod.Tolerations) == 1 && pod.Tolerations[0].Key == "infra",
		"affinity":       pod.Affinity != nil && pod.Affinity.NodeAffinity != nil,
		"network policy": all["NetworkPolicy etcd-operator-system etcd-operator-controller-manager"] == nil,
	} {
		if !is {
			t.Errorf("%s: not as the values say: %+v, %s", what, spec, resources)
		}
	}
}

func TestCRDsOfTheChart(t *testing.T) {
	for values, want := range map[string]struct{ there, keep bool }{
		"crds: {install: false}": {false, false}, "crds: {keep: false}": {true, false}, "": {true, true},
	} {
		crd := installed(t, values)["CustomResourceDefinition etcdclusters.etcd-operator.dev"]
		if (crd != nil) != want.there || crd != nil && (crd.GetAnnotations()["helm.sh/resource-policy"] == "keep") != want.keep {
			t.Errorf("%q: there is %v, which stays: %v", values, crd != nil, crd.GetAnnotations())
		}
	}
}

func TestBadValuesAreRefused(t *testing.T) {
	for values, why := range map[string]string{
		"replica: 2":                                "replica",
		"replicas: two":                             "replicas",
		"replicas: -1":                              "replicas",
		"image: {tag: 'not a tag'}":                 "tag",
		"image: {digest: sha256:abc}":               "digest",
		"image: {pullPolicy: Sometimes}":            "pullPolicy",
		"etcdImages: {'3.6': x}":                    "invalid propertyName '3.6'",
		"etcdImages: {3.6.16: ''}":                  "etcdImages",
		"image: {pullSecrets: [registry]}":          "pullSecrets",
		"watchNamespaces: team-a":                   "watchNamespaces",
		"watchNamespaces: ['team-a,team-b']":        "watchNamespaces",
		"limits: {images: ['a,b']}":                 "images",
		"limits: {image: [a]}":                      "image",
		"resources: {limit: {memory: 1Gi}}":         "limit",
		"monitoring: {serviceMonitorLabels: 'a=b'}": "serviceMonitorLabels",
		"networkPolicy: false":                      "networkPolicy",
		"tolerations: [{effect: Never}]":            "effect",
		"affinity: {nodes: {}}":                     "nodes",
		"extraArgs: [zap-log-level=debug]":          "extraArgs",
		"extraEnv: [{value: x}]":                    "name",
		"crds: {keep: sometimes}":                   "keep",
		"crds: {delete: true}":                      "delete",
	} {
		if _, err := templated(t, "etcd-operator", "etcd-operator-system", values); err == nil ||
			!strings.Contains(err.Error(), "don't meet the specifications") || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", values, err)
		}
	}
	if _, err := templated(t, "etcd-operator", "etcd-operator-system", "global: {from: another chart}"); err != nil {
		t.Errorf("a part of another chart: %v", err)
	}
}

// TestEveryValueIsDocumented: each has a comment, and its place in the schema, which has no others.
func TestEveryValueIsDocumented(t *testing.T) {
	text, err := os.ReadFile(chart + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	var schema struct {
		Properties map[string]map[string]any `json:"properties"`
	}
	raw, err := os.ReadFile(chart + "/values.schema.json")
	if err != nil || json.Unmarshal(raw, &schema) != nil || yaml.Unmarshal(text, &values) != nil {
		t.Fatal("values or schema cannot be read", err)
	}
	// What is below these is of Kubernetes, not of the chart.
	ofKubernetes := []string{"resources", "nodeSelector", "tolerations", "affinity"}
	for name, value := range values {
		documented(t, string(text), "", name)
		known := schema.Properties[name]
		if known == nil {
			t.Errorf("%s is not in the schema", name)
		}
		inner, is := value.(map[string]any)
		if !is || slices.Contains(ofKubernetes, name) {
			continue
		}
		properties, _ := known["properties"].(map[string]any)
		if got, want := slices.Sorted(maps.Keys(inner)), slices.Sorted(maps.Keys(properties)); !slices.Equal(got, want) {
			t.Errorf("%s has %q, in the schema %q", name, got, want)
		}
		for inner := range inner {
			documented(t, string(text), "  ", inner)
		}
	}
	delete(schema.Properties, "global")
	if len(schema.Properties) != len(values) {
		t.Errorf("the schema has %q", slices.Sorted(maps.Keys(schema.Properties)))
	}
}

func documented(t *testing.T, text, indent, name string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)^` + indent + `# .+\n` + indent + name + `:`).MatchString(text) {
		t.Errorf("%s has no comment", name)
	}
}

func TestTheChartIsLinted(t *testing.T) {
	if text, err := helm(t, "lint", "--strict", "--kube-version", "1.30.0", "CHART"); err != nil {
		t.Error(text)
	}
}
