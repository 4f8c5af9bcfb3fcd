// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusters "github.com/etcd-operator/etcd-operator/api/v1beta1"
)

func TestUnsettledSaysWhatIsMissing(t *testing.T) {
	settled := func() *clusters.EtcdCluster {
		return &clusters.EtcdCluster{
			ObjectMeta: metav1.ObjectMeta{Generation: 2},
			Spec:       clusters.EtcdClusterSpec{Size: ptr.To[int32](3)},
			Status: clusters.EtcdClusterStatus{ObservedGeneration: 2, ReadyMembers: 3, Conditions: []metav1.Condition{
				{Type: clusters.ConditionAvailable, Status: metav1.ConditionTrue},
				{Type: clusters.ConditionProgressing, Status: metav1.ConditionFalse},
			}},
		}
	}
	for want, spoil := range map[string]func(*clusters.EtcdCluster){
		"":                                  func(*clusters.EtcdCluster) {},
		"the operator has not looked at it": func(c *clusters.EtcdCluster) { c.Generation = 3 },
		"it is not available":               func(c *clusters.EtcdCluster) { c.Status.Conditions[0].Status = metav1.ConditionUnknown },
		"it is still being changed":         func(c *clusters.EtcdCluster) { c.Status.Conditions[1].Status = metav1.ConditionTrue },
		"2 of 3 members are ready":          func(c *clusters.EtcdCluster) { c.Status.ReadyMembers = 2 },
	} {
		c := settled()
		spoil(c)
		if got := unsettled(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestExamplesAreThoseOfTheBundle(t *testing.T) {
	examples, err := readExamples("../../bundle")
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		c, err := untyped(example)
		if err != nil {
			t.Error(err)
			continue
		}
		if c.Name == "" || c.Kind != "EtcdCluster" {
			t.Errorf("no example of a cluster: %v", example)
		}
	}
}

func TestABundleWithoutExamplesFails(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "manifests"), 0o750); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "manifests", "x.clusterserviceversion.yaml")
	for text, want := range map[string]string{
		"metadata: {annotations: {alm-examples: '[]'}}":                                                 "no alm-examples",
		`metadata: {annotations: {alm-examples: '[{"kind": "EtcdBackup", "spec": {"cluster": "a"}}]'}}`: "no alm-examples",
		"metadata: {annotations: {alm-examples: 'none'}}":                                               "read alm-examples",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readExamples(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := readExamples(t.TempDir()); err == nil {
		t.Error("an empty bundle has examples")
	}
}

func TestUntilTellsWhatItWaitedFor(t *testing.T) {
	limited, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	w := &world{now: time.Now, pause: time.Millisecond}
	err := w.until(limited, "rain", func() (string, error) { return "no cloud", nil })
	if err == nil || err.Error() != "waited for rain: no cloud" {
		t.Error(err)
	}
	if err := w.until(t.Context(), "rain", func() (string, error) { return "", nil }); err != nil || len(w.log) != 1 {
		t.Error(err, w.log)
	}
}
