// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package stored_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/controllers/stored"
)

func built(t *testing.T, plural string) *unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile("../../config/crd/bases/etcd-operator.dev_" + plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(raw, &crd.Object); err != nil {
		t.Fatal(err)
	}
	return crd
}

// without takes a field out of the schemas of a definition, as an older one has them.
func without(crd *unstructured.Unstructured, path ...string) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, version := range versions {
		unstructured.RemoveNestedField(version.(map[string]any), append([]string{"schema", "openAPIV3Schema", "properties"}, path...)...)
	}
	_ = unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
}

// TestDefinitionsOfThisOperator drop nothing, and older ones drop what is said.
func TestDefinitionsOfThisOperator(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for plural, kind := range stored.Kinds() {
		object, err := scheme.New(v1beta1.GroupVersion.WithKind(kind))
		if err != nil {
			t.Fatal(err)
		}
		if got := stored.Dropped(built(t, plural), object); len(got) > 0 {
			t.Errorf("%s drops %v", plural, got)
		}
	}
	crd := built(t, "etcdclusters")
	without(crd, "status", "properties", "adoption")
	without(crd, "spec", "properties", "storage", "properties", "quarantine")
	without(crd, "status", "properties", "members", "items", "properties", "name")
	want := "spec.storage.quarantine status.members.name status.adoption"
	if got := strings.Fields(strings.Join(stored.Dropped(crd, &v1beta1.EtcdCluster{}), " ")); len(got) != 3 ||
		!strings.Contains(want, got[0]) || !strings.Contains(want, got[1]) || !strings.Contains(want, got[2]) {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestOlderDefinitionsAreSaid once, with what to do.
func TestOlderDefinitionsAreSaid(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	older := built(t, "etcdclusters")
	without(older, "status", "properties", "adoption")
	var server client.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(older, built(t, "etcdbackups")).Build()
	recorder := events.NewFakeRecorder(10)
	d := &stored.Definitions{Client: server, Log: logr.Discard(), Events: recorder, Version: "0.9.0", Every: time.Millisecond}
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if err := d.Start(ctx); err != nil {
		t.Fatal(err)
	}
	close(recorder.Events)
	var said []string
	for event := range recorder.Events {
		said = append(said, event)
	}
	if len(said) != 1 || !strings.Contains(said[0], "etcdclusters.etcd-operator.dev is older than the operator: the API server drops "+
		"status.adoption from every object that is written; apply the CustomResourceDefinitions of operator 0.9.0") {
		t.Errorf("%q", said)
	}
}
