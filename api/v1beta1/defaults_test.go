// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func TestDefaults(t *testing.T) {
	for name, spec := range map[string]string{
		"default-size": "{size: 3}", "default-empty": "{}", "default-null": "{etcd: null, storage: null}",
	} {
		t.Run(name, func(t *testing.T) {
			wantDefaults(t, create(t, name, spec).Spec)
		})
	}
	t.Run("no spec at all", func(t *testing.T) {
		c := written(t, "default-none", "{}")
		unstructured.RemoveNestedField(c.Object, "spec")
		if err := server.Create(t.Context(), c, strict); err != nil {
			t.Fatal(err)
		}
		wantDefaults(t, get(t, "default-none").Spec)
	})
}

func wantDefaults(t *testing.T, got v1beta1.EtcdClusterSpec) {
	t.Helper()
	want := v1beta1.EtcdClusterSpec{
		Size: ptr.To[int32](3), Version: "3.6.16", DeletionPolicy: v1beta1.Retain, TLS: v1beta1.TLS{Mode: v1beta1.TLSEnabled},
		Drills: v1beta1.DrillsForbidden,
		Etcd: v1beta1.EtcdSettings{
			AutoCompaction: v1beta1.AutoCompaction{Mode: v1beta1.CompactPeriodic, Retention: "1h"},
			SnapshotCount:  10000, LogLevel: "info",
		},
	}
	want.Storage.Quarantine = &metav1.Duration{Duration: v1beta1.DefaultQuarantine}
	want.Upgrade.OnFailure, want.Recovery.QuorumLoss = v1beta1.Halt, v1beta1.Manual
	want.Recovery.MemberTimeout.Duration = 5 * time.Minute
	want.Recovery.SlowMembers, want.Recovery.SlowMemberTimeout.Duration = v1beta1.SlowKeep, time.Hour
	want.Tuning = v1beta1.TuningAdvise
	want.Maintenance = v1beta1.Maintenance{
		CorruptionCheck: v1beta1.CorruptionCheckOn,
		Defragmentation: v1beta1.Defragmentation{
			MinFree: ptr.To(resource.MustParse("100Mi")), FreePercent: 45, QuotaPercent: 75,
		},
	}
	want.Etcd.HeartbeatInterval.Duration = 100 * time.Millisecond
	want.Etcd.ElectionTimeout.Duration = time.Second
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if of := (&v1beta1.EtcdCluster{Spec: got}).QuotaBytes(); of != 3699<<20 || got.MemberImage() != "gcr.io/etcd-development/etcd:v3.6.16" {
		t.Errorf("quota %d, image %s", of, got.MemberImage())
	}
}

// TestDefaultLog: a log that is asked for without settings is flushed each second.
func TestDefaultLog(t *testing.T) {
	c := create(t, "default-log", "{backup: {store: offsite, continuous: {}}}")
	if got := c.Spec.Backup.Continuous; got == nil || got.Flush.Duration != time.Second || got.SegmentSize.String() != "8Mi" || !c.KeepsLog() {
		t.Errorf("%+v", got)
	}
	if other := create(t, "default-no-log", "{backup: {store: offsite}}"); other.KeepsLog() {
		t.Error("nobody has asked for a log")
	}
}

func TestDefaultEphemeral(t *testing.T) {
	c := create(t, "default-ephemeral", "{storage: {ephemeral: {}}}")
	if limit := c.Spec.Storage.Ephemeral.SizeLimit.String(); limit != "2Gi" {
		t.Errorf("sizeLimit is %s, want 2Gi", limit)
	}
}

// The spec as it was, with what the server fills in and nothing lost.
func TestSamples(t *testing.T) {
	const folder = "../../config/samples"
	listed := map[string][]string{}
	readYAML(t, filepath.Join(folder, "kustomization.yaml"), &listed)
	names := map[string]bool{}
	for _, file := range listed["resources"] {
		t.Run(file, func(t *testing.T) {
			sample := &unstructured.Unstructured{}
			readYAML(t, filepath.Join(folder, file), &sample.Object)
			names[sample.GetName()] = true
			sample.SetNamespace("default")
			wantSpec := sample.Object["spec"]
			if err := server.Create(t.Context(), sample.DeepCopy(), strict); err != nil {
				t.Fatal(err)
			}
			got := typed(t, sample)
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(got)
			if err != nil {
				t.Fatal(err)
			}
			wantWithin(t, "spec", wantSpec, object["spec"])
			if err := server.Update(t.Context(), got); err != nil {
				t.Fatal(err)
			}
			if got.GetGeneration() != 1 {
				t.Errorf("reading and writing it back changed it: %+v", got)
			}
		})
	}
	for _, name := range []string{"example-etcd-cluster", "example-one-member", "example-ephemeral", "example-full"} {
		if !names[name] {
			t.Errorf("no sample is named %s", name)
		}
	}
}

// typed is the object as Go knows its kind.
func typed(t *testing.T, sample *unstructured.Unstructured) client.Object {
	t.Helper()
	empty, err := server.Scheme().New(sample.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	object := empty.(client.Object)
	if err := server.Get(t.Context(), client.ObjectKeyFromObject(sample), object); err != nil {
		t.Fatal(err)
	}
	return object
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// wantWithin wants every field that is in want to be the same in got.
func wantWithin(t *testing.T, path string, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		fields, _ := got.(map[string]any)
		for key, value := range want {
			wantWithin(t, path+"."+key, value, fields[key])
		}
	case []any:
		items, _ := got.([]any)
		if len(items) != len(want) {
			t.Errorf("%s: got %v, want %v", path, got, want)
			return
		}
		for i := range want {
			wantWithin(t, path, want[i], items[i])
		}
	case float64: // YAML has one kind of number, the server two
		if number, ok := got.(int64); !ok || float64(number) != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	default:
		if got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

func TestColumnsAndNames(t *testing.T) {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	if err := server.Get(t.Context(), client.ObjectKey{Name: "etcdclusters.etcd-operator.dev"}, crd); err != nil {
		t.Fatal(err)
	}
	names, _, err := unstructured.NestedStringSlice(crd.Object, "status", "acceptedNames", "shortNames")
	if err != nil || !slices.Equal(names, []string{"ec"}) {
		t.Errorf("short names are %v, want ec (%v)", names, err)
	}
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	columns, _, _ := unstructured.NestedSlice(versions[0].(map[string]any), "additionalPrinterColumns")
	var titles []any
	for _, column := range columns {
		titles = append(titles, column.(map[string]any)["name"])
	}
	if want := []any{"Size", "Ready", "Version", "Status", "Last-Backup", "Logged-Until", "Age"}; !slices.Equal(titles, want) {
		t.Errorf("columns are %v, want %v", titles, want)
	}
}
