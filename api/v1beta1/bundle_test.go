// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"context"
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// People click on the examples of a catalog and create them as they are, with the status that shows what to expect.
func TestExamplesOfTheBundle(t *testing.T) {
	csv := &unstructured.Unstructured{}
	readYAML(t, "../../bundle/manifests/etcd-operator.clusterserviceversion.yaml", &csv.Object)
	var examples []unstructured.Unstructured
	if err := json.Unmarshal([]byte(csv.GetAnnotations()["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	if len(examples) == 0 {
		t.Fatal("there are none")
	}
	for _, example := range examples {
		t.Run(example.GetName(), func(t *testing.T) { wantExample(t, example) })
	}
}

func wantExample(t *testing.T, example unstructured.Unstructured) {
	t.Helper()
	example.SetNamespace("default")
	example.SetName("bundle-" + example.GetName())
	status := example.Object["status"]
	made := example.DeepCopy()
	if err := server.Create(t.Context(), made, strict); err != nil {
		t.Fatalf("create it: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Delete(context.Background(), made); err != nil {
			t.Errorf("delete it: %v", err)
		}
	})
	kept := made.DeepCopy()
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(made), kept); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"version", "members", "phase", "backups"} {
		if _, there, _ := unstructured.NestedFieldNoCopy(kept.Object, "status", field); there {
			t.Errorf("status.%s was not written by the operator", field)
		}
	}
	made.Object["status"] = status
	if err := server.Status().Update(t.Context(), made, strict); err != nil {
		t.Errorf("no operator could write the status that it shows: %v", err)
	}
}
