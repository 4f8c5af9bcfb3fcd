package manager

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// TestMonitorLabels: what is given is read, and the operator's own labels stay.
func TestMonitorLabels(t *testing.T) {
	given, err := ParseMonitorLabels("release=prometheus,app.kubernetes.io/name=other")
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range selfMonitors("operators", given) {
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
