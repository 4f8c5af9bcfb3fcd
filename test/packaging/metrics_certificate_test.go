// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// rendered is what kustomize, as it is pinned, makes of a folder of layers, each on top of the one before.
func rendered(t *testing.T, layers ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	folder := t.TempDir()
	for i, layer := range layers {
		if err := os.MkdirAll(filepath.Join(folder, fmt.Sprint(i)), 0o700); err != nil {
			t.Fatal(err)
		}
		config, err := filepath.Abs(top + "/config")
		if err != nil {
			t.Fatal(err)
		}
		if config, err = filepath.Rel(filepath.Join(folder, fmt.Sprint(i)), config); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, fmt.Sprint(i), "kustomization.yaml")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(layer, "CONFIG", config)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "-C", top+"/hack/tools/kustomize", "tool", "kustomize", "build",
		filepath.Join(folder, fmt.Sprint(len(layers)-1)))
	var complaints strings.Builder
	build.Stderr = &complaints
	text, err := build.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	all := map[string]*unstructured.Unstructured{}
	for _, one := range strings.Split(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(one), &object.Object); err != nil {
			t.Fatal(err)
		}
		all[object.GetKind()+" "+object.GetName()] = object
	}
	return all
}

// TestMetricsCertificate: the component makes a certificate for the Service of the metrics, where the operator is and as it is called,
// and brings it to the operator.
func TestMetricsCertificate(t *testing.T) {
	for name, c := range map[string]struct {
		layers            []string
		prefix, namespace string
	}{
		"as it is": {
			[]string{"{resources: [CONFIG/default], components: [CONFIG/metrics-certificate]}"}, "", "etcd-operator-system",
		},
		"moved": {
			[]string{
				"{resources: [CONFIG/default], namespace: platform, namePrefix: platform-}",
				"{resources: [../0], components: [CONFIG/metrics-certificate]}",
			}, "platform-", "platform",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := rendered(t, c.layers...)
			service := all["Service "+c.prefix+"etcd-operator-controller-manager-metrics-service"]
			certificate, issuer := all["Certificate etcd-operator-metrics"], all["Issuer etcd-operator-metrics"]
			if service == nil || certificate == nil || issuer == nil {
				t.Fatalf("the Service is %v, the Certificate %v, the Issuer %v", service, certificate, issuer)
			}
			if certificate.GetNamespace() != c.namespace || issuer.GetNamespace() != c.namespace || service.GetNamespace() != c.namespace {
				t.Errorf("the namespaces are %q and %q", certificate.GetNamespace(), issuer.GetNamespace())
			}
			names, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
			host := service.GetName() + "." + c.namespace + ".svc"
			if err != nil || !slices.Equal(names, []string{host, host + ".cluster.local"}) {
				t.Errorf("the certificate is for %q, %v", names, err)
			}
			secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
			var d appsv1.Deployment
			manager := all["Deployment "+c.prefix+"etcd-operator-controller-manager"]
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(manager.Object, &d); err != nil {
				t.Fatal(err)
			}
			wantMounted(t, d.Spec.Template.Spec, secret)
		})
	}
}

// wantMounted wants the operator to find the Secret where it looks for it, and all that it had before.
func wantMounted(t *testing.T, pod corev1.PodSpec, secret string) {
	t.Helper()
	if len(pod.Volumes) != 1 || pod.Volumes[0].Secret == nil || pod.Volumes[0].Secret.SecretName != secret || secret == "" {
		t.Fatalf("the volumes are %+v", pod.Volumes)
	}
	container := pod.Containers[0]
	mounts := container.VolumeMounts
	if len(mounts) != 1 || mounts[0].Name != pod.Volumes[0].Name || !mounts[0].ReadOnly {
		t.Fatalf("the mounts are %+v", mounts)
	}
	path, had := "", false
	for _, variable := range container.Env {
		had = had || variable.Name == "POD_NAMESPACE" && variable.ValueFrom != nil
		if variable.Name == "METRICS_CERT_PATH" {
			path = variable.Value
		}
	}
	if path != mounts[0].MountPath || !had || !slices.Contains(container.Args, "--metrics-bind-address=:8443") {
		t.Errorf("the path is %q, the arguments %q", path, container.Args)
	}
}
