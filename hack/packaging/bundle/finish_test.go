// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder writes files into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// generated is a bundle as operator-sdk leaves it.
func generated() map[string]string {
	return map[string]string{
		"manifests/operator.clusterserviceversion.yaml": `
kind: ClusterServiceVersion
metadata:
  name: etcd-operator.v0.2.0
  namespace: placeholder
  annotations: {containerImage: "team/operator:v1", createdAt: "2031-01-01T10:11:12Z"}
spec:
  version: 0.2.0
  cleanup: {enabled: false}
  customresourcedefinitions:
    owned:
    - {kind: Etcd, name: etcds.example, version: v2, displayName: etcd, description: A cluster}
    - {kind: Etcd, name: etcds.example, version: v1}
  relatedImages: [{name: etcd-3-6-16, image: "gcr.io/etcd-development/etcd:v3.6.16"}]
  install:
    spec:
      deployments:
      - name: operator
        spec:
          template:
            metadata: {creationTimestamp: null, labels: {a: b}}
            spec:
              containers:
              - name: manager
                image: team/operator:v1
                env:
                - {name: RELATED_IMAGE_ETCD_3_6_16, value: "gcr.io/etcd-development/etcd:v3.6.16"}
                - {name: OTHER, value: "team/operator:v11"}
`,
		"manifests/crd.yaml": `
kind: CustomResourceDefinition
metadata: {name: a, creationTimestamp: null}
status: {conditions: null}
`,
		"metadata/annotations.yaml":   "annotations:\n  operators.operatorframework.io.bundle.package.v1: etcd-operator\n",
		"tests/scorecard/config.yaml": "kind: Configuration\n",
	}
}

var base = []object{{
	"kind":     "ClusterServiceVersion",
	"metadata": object{"annotations": object{"createdAt": "2026-11-21T00:00:00Z"}},
}}

func TestFinish(t *testing.T) {
	bundle := folder(t, generated())
	if err := finish(bundle, base); err != nil {
		t.Fatal(err)
	}
	_, csv, err := readCSV(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if got := text(csv, "metadata", "annotations", "createdAt"); got != "2026-11-21T00:00:00Z" {
		t.Errorf("createdAt is %s, want that of the base", got)
	}
	var related []string
	for _, image := range parts(csv, "spec", "relatedImages") {
		related = append(related, text(image, "name")+"="+text(image, "image"))
	}
	want := "etcd-operator=team/operator:v1 etcd-3-6-16=gcr.io/etcd-development/etcd:v3.6.16"
	if got := strings.Join(related, " "); got != want {
		t.Errorf("related images: %s, want %s", got, want)
	}
	owned := parts(csv, "spec", "customresourcedefinitions", "owned")
	if earlier := owned[1]; text(earlier, "displayName") != "etcd" || text(earlier, "version") != "v1" {
		t.Errorf("the earlier version is described as %v", earlier)
	}
	if get(csv, "metadata", "namespace") != nil || get(csv, "spec", "cleanup") != nil {
		t.Error("the CSV keeps what only a cluster writes")
	}
	crd, err := readObject(filepath.Join(bundle, "manifests/crd.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := crd["status"]; ok {
		t.Error("the CRD keeps its empty status")
	}
	for _, file := range []string{"manifests/crd.yaml", "manifests/operator.clusterserviceversion.yaml"} {
		content, err := os.ReadFile(filepath.Join(bundle, file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "creationTimestamp") {
			t.Errorf("%s keeps an empty time:\n%s", file, content)
		}
	}
}

func TestRelatedImagesAreThereOnce(t *testing.T) {
	const name = "manifests/operator.clusterserviceversion.yaml"
	for what, change := range map[string][2]string{
		"an image twice": {`image: "gcr.io/etcd-development/etcd:v3.6.16"}]`, `image: "team/operator:v1"}]`},
		"a name twice":   {"name: etcd-3-6-16", "name: etcd-operator"},
		"no image":       {`containerImage: "team/operator:v1", `, ""},
	} {
		t.Run(what, func(t *testing.T) {
			files := generated()
			files[name] = strings.Replace(files[name], change[0], change[1], 1)
			err := finish(folder(t, files), base)
			if err == nil || !strings.Contains(err.Error(), "relatedImages") {
				t.Errorf("error is %v, want one about relatedImages", err)
			}
		})
	}
}
