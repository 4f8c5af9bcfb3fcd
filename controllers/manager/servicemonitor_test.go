// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestMonitorLabels: what is given is read, and the operator's own labels stay.
func TestMonitorLabels(t *testing.T) {
	given, err := ParseMonitorLabels("release=prometheus,app.kubernetes.io/name=other")
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range selfMonitors("operators", given, false) {
		if l := object.GetLabels(); l["release"] != "prometheus" || l["app.kubernetes.io/name"] != "etcd-operator" {
			t.Errorf("%s has the labels %v", object.GetKind(), l)
		}
		if _, err := yaml.Marshal(object.Object); err != nil || object.GetNamespace() != "operators" {
			t.Errorf("%s: %v", object.GetKind(), err)
		}
	}
	for _, wrong := range []string{"release", "release=a b", "=prometheus"} {
		if _, err := ParseMonitorLabels(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// TestMonitorIsTaken: with a Secret it names no file, which monitors of user projects in OpenShift may not, and the job is not one that the
// rules of others take for etcd, in the file that is applied by hand, too.
func TestMonitorIsTaken(t *testing.T) {
	text, err := os.ReadFile("../../config/monitoring/servicemonitor.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var byHand unstructured.Unstructured
	documents := strings.Split(string(text), "\n---\n")
	if err := yaml.Unmarshal([]byte(documents[len(documents)-1]), &byHand.Object); err != nil {
		t.Fatal(err)
	}
	for _, object := range []*unstructured.Unstructured{selfMonitors("o", nil, true)[0], &byHand} {
		spec, err := yaml.Marshal(object.Object["spec"])
		if err != nil || regexp.MustCompile("[fF]ile:").Match(spec) || !strings.Contains(string(spec), "name: "+reader) {
			t.Errorf("it is refused: %s, %v", spec, err)
		}
		label, _, _ := unstructured.NestedString(object.Object, "spec", "jobLabel")
		job, _, _ := unstructured.NestedString(object.Object, "spec", "selector", "matchLabels", label)
		if job == "" || strings.Contains(job, "etcd") {
			t.Errorf("the job %q counts as etcd", job)
		}
	}
	if spec, err := yaml.Marshal(selfMonitors("o", nil, false)[0].Object); err != nil || !strings.Contains(string(spec), "bearerTokenFile") {
		t.Errorf("without a Secret no token is sent: %s, %v", spec, err)
	}
}
