// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func command(t *testing.T, pod *unstructured.Unstructured) []string {
	t.Helper()
	containers, _, err := unstructured.NestedSlice(pod.Object, "spec", "containers")
	if err != nil || len(containers) != 1 {
		t.Fatalf("%d containers: %v", len(containers), err)
	}
	command, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "command")
	if err != nil {
		t.Fatal(err)
	}
	return command
}

func TestAMemberJoinsTheFloorThatExists(t *testing.T) {
	b := &bench{options: options{namespace: "bench-x"}}
	f := b.floorOf("f", resource.MustParse("4Gi"))
	pods, err := f.renderIn("existing", []string{"f-0", "f-2", "f-3"}, "pod.yaml", "f-3")
	if err != nil || len(pods) != 1 {
		t.Fatalf("%d pods: %v", len(pods), err)
	}
	got := command(t, pods[0])
	for _, want := range []string{
		"--name=f-3", "--initial-cluster-state=existing", "--quota-backend-bytes=1838153728",
		"--initial-cluster=f-0=https://f-0.f.bench-x.svc:2380,f-2=https://f-2.f.bench-x.svc:2380,f-3=https://f-3.f.bench-x.svc:2380",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no argument %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
	if len(f.Members) != 3 || f.Members[2] != "f-2" {
		t.Errorf("rendering has changed the floor: %v", f.Members)
	}
}

// TestASourceIsLikeTheFloor: its Pods are those of the floor but for what a StatefulSet gives them.
func TestASourceIsLikeTheFloor(t *testing.T) {
	b := &bench{options: options{namespace: "bench-x"}}
	f := b.floorOf("f", resource.MustParse("4Gi"))
	set, err := f.statefulSet()
	if err != nil {
		t.Fatal(err)
	}
	spec, _, err := unstructured.NestedMap(set.Object, "spec", "template", "spec")
	if err != nil || spec["hostname"] != nil || len(spec["volumes"].([]any)) != 1 {
		t.Fatalf("%v: %v", err, spec)
	}
	got := command(t, &unstructured.Unstructured{Object: map[string]any{"spec": spec}})
	for _, want := range []string{
		"--name=$(POD_NAME)", "--initial-advertise-peer-urls=https://$(POD_NAME).f.bench-x.svc:2380", "--quota-backend-bytes=1838153728",
		"--initial-cluster=f-0=https://f-0.f.bench-x.svc:2380,f-1=https://f-1.f.bench-x.svc:2380,f-2=https://f-2.f.bench-x.svc:2380",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no argument %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
}
