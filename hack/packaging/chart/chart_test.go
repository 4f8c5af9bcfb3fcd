// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manager = `apiVersion: apps/v1
kind: Deployment
metadata:
  labels: {app.kubernetes.io/managed-by: kustomize}
  name: etcd-operator-controller-manager
  namespace: etcd-operator-system
spec:
  replicas: 2
  template:
    spec:
      containers:
      - args: [--leader-elect]
        env:
        - {name: RELATED_IMAGE_ETCD_3_6_16, value: m.example/etcd@sha256:def}
        - {name: WATCH_NAMESPACE, valueFrom: {fieldRef: {fieldPath: somewhere}}}
        image: THEIRS
        imagePullPolicy: IfNotPresent
`

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations: {a: b}
  labels: {app.kubernetes.io/managed-by: kustomize}
  name: etcdclusters.etcd-operator.dev
spec: {description: TEXT}
`

func TestTheImageOfAReleaseIsADigest(t *testing.T) {
	for image, want := range map[string][]string{
		"m.example:5000/x/y:v9":            {"repository: m.example:5000/x/y\n", "appVersion: v9\n"},
		"m.example:5000/x/y@sha256:abc":    {"repository: m.example:5000/x/y\n", "appVersion: v1.2.3\n", "image-digest: sha256:abc\n"},
		"m.example:5000/x/y:v9@sha256:abc": {"repository: m.example:5000/x/y\n", "appVersion: v9\n", "image-digest: sha256:abc\n"},
	} {
		files, err := chart("1.2.3", strings.ReplaceAll(manager, "THEIRS", image))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range append(want, "version: 1.2.3\n") {
			if !strings.Contains(files["Chart.yaml"]+files["values.yaml"], line) {
				t.Errorf("%s: no line %q in %s", image, line, files["Chart.yaml"])
			}
		}
		if !strings.Contains(files["templates/_helpers.tpl"], "\n3.6.16: m.example/etcd@sha256:def\n") {
			t.Errorf("the digest of etcd's image is not in %s", files["templates/_helpers.tpl"])
		}
		if has := strings.Contains(files["Chart.yaml"], "digest"); has != strings.Contains(image, "@") {
			t.Errorf("%s: %s", image, files["Chart.yaml"])
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	for stream, want := range map[string]string{
		crd: "no Deployment",
		manager + "\n---\n" + strings.Replace(crd, "TEXT", "'a {{ b }}'", 1): "which is a template",
		manager + "\n---\n" + crd + "\n---\n" + crd:                          "two objects",
	} {
		if _, err := chart("1.2.3", stream); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestTheFolderIsMadeAgain: the template of an object that is no more does not stay.
func TestTheFolderIsMadeAgain(t *testing.T) {
	out := t.TempDir()
	if err := write(out, map[string]string{"templates/old.yaml": "x", "Chart.yaml": "x"}); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-version=1.2.3", "-out=" + out}, strings.NewReader(manager)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, "templates", "old.yaml")); !os.IsNotExist(err) {
		t.Errorf("it stays: %v", err)
	}
	if _, err := os.Stat(filepath.Join(out, "templates", "deployment-controller-manager.yaml")); err != nil {
		t.Error(err)
	}
}
