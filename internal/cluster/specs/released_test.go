// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs_test

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestPodsOfReleases: the Pods that each release has made are as wanted. testdata/released has those that differ, each as the golden file
// of the first release that made it.
func TestPodsOfReleases(t *testing.T) {
	files, err := filepath.Glob("testdata/released/pod_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no Pods of releases", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pod := &corev1.Pod{}
		if err := yaml.Unmarshal(text, pod); err != nil {
			t.Fatal(err)
		}
		if got := specs.Change(example(), pod); got != cluster.Same {
			t.Errorf("%s: got %d, want no change", file, got)
		}
	}
}

// TestFirstEditionStaysWhateverTheSpec: with the fingerprints that v0.1.0 has written for other specs. Those of v0.2.0 are in golden files.
func TestFirstEditionStaysWhateverTheSpec(t *testing.T) {
	for fingerprint, change := range map[string]change{
		"25b8e15e7893f7c0": func(s *v1beta1.EtcdClusterSpec) { s.Version = "3.5.30" },
		"3d7c300464c17467": ephemeral, "74536bd242b0aff7": insecure,
	} {
		pod := specs.Pod(with(change), "example-0", forming())
		pod.Annotations[v1beta1.AnnotationTemplate] = fingerprint
		if got := specs.Change(with(change), pod); got != cluster.Same {
			t.Errorf("%s: got %d, want no change", fingerprint, got)
		}
	}
}
