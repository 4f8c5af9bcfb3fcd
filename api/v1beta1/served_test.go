// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build envtest

package v1beta1_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// in is an object as a user of another version writes it.
func in(version schema.GroupVersion, object *unstructured.Unstructured) *unstructured.Unstructured {
	other := object.DeepCopy()
	other.SetAPIVersion(version.String())
	return other
}

// TestVersionsAnswerAlike: what one version refuses or accepts, the other does, in the same words and with the same defaults.
func TestVersionsAnswerAlike(t *testing.T) {
	number := 0
	for _, table := range [][]refusal{
		sizes, versions, operations, storage, etcdSettings, flags, podSettings, restores, backups, networks, sources, outsides,
	} {
		for _, r := range table {
			if r.from != "" || strings.Contains(r.bad, "%d") {
				continue
			}
			number++
			for _, spec := range []string{r.bad, r.good} {
				current := written(t, fmt.Sprintf("alike-%d", number), spec)
				earlier := in(v1beta1.EarlierVersion, current)
				saidCurrent := server.Create(t.Context(), current, client.DryRunAll, strict)
				saidEarlier := server.Create(t.Context(), earlier, client.DryRunAll, strict)
				named := strings.ReplaceAll(fmt.Sprint(saidEarlier), v1beta1.EarlierVersion.Version, v1beta1.GroupVersion.Version)
				if fmt.Sprint(saidCurrent) != named {
					t.Errorf("%s\nv1beta1: %v\nv1alpha1: %v", spec, saidCurrent, saidEarlier)
				}
				if saidCurrent == nil && !reflect.DeepEqual(current.Object["spec"], earlier.Object["spec"]) {
					t.Errorf("%s has other defaults: %v and %v", spec, current.Object["spec"], earlier.Object["spec"])
				}
			}
		}
	}
	if number < 100 {
		t.Errorf("only %d inputs were compared", number)
	}
}

// TestVersionsRoundTrip: a sample that is written in one version is read in the other as it was, and written back changes nothing.
func TestVersionsRoundTrip(t *testing.T) {
	count := 0
	for name, text := range match(t, "config/samples/*.yaml") {
		for _, part := range strings.Split(text, "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(part), &object.Object); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if object.GroupVersionKind().Group != v1beta1.GroupVersion.Group {
				continue
			}
			count++
			t.Run(object.GetKind()+" "+object.GetName(), func(t *testing.T) { roundTrip(t, object) })
		}
	}
	if count < 10 {
		t.Errorf("only %d samples were written", count)
	}
}

func roundTrip(t *testing.T, object *unstructured.Unstructured) {
	object.SetNamespace("default")
	object.SetName("trip-" + object.GetName()) // other tests leave the samples
	for _, version := range []schema.GroupVersion{v1beta1.GroupVersion, v1beta1.EarlierVersion} {
		made := in(version, object)
		if err := server.Create(t.Context(), made, strict); err != nil {
			t.Fatal(err)
		}
		for _, other := range []schema.GroupVersion{v1beta1.EarlierVersion, v1beta1.GroupVersion} {
			read := &unstructured.Unstructured{}
			read.SetGroupVersionKind(other.WithKind(object.GetKind()))
			if err := server.Get(t.Context(), client.ObjectKeyFromObject(made), read); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(read.Object["spec"], made.Object["spec"]) {
				t.Errorf("written in %s, read in %s: %v, want %v", version, other, read.Object["spec"], made.Object["spec"])
			}
			before := read.GetResourceVersion()
			if err := server.Update(t.Context(), read, strict); err != nil {
				t.Fatal(err)
			}
			if read.GetResourceVersion() != before {
				t.Errorf("written back in %s it changed", other)
			}
		}
		if err := server.Delete(t.Context(), made); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServedVersions: both versions are offered, the current one first.
func TestServedVersions(t *testing.T) {
	mapping, err := server.RESTMapper().RESTMappings(v1beta1.GroupVersion.WithKind("EtcdCluster").GroupKind())
	if err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, one := range mapping {
		served = append(served, one.GroupVersionKind.Version)
	}
	if want := []string{"v1beta1", "v1alpha1"}; !slices.Equal(served, want) {
		t.Errorf("served: %v, want %v", served, want)
	}
}
