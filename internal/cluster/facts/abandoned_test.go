// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestPutBackByABackupTool: no status, and nothing has an owner. What carries the cluster's
// labels is adopted, no member is restarted for it, and volumes come first.
func TestPutBackByABackupTool(t *testing.T) {
	s := newScene(t)
	for _, object := range s.objects {
		object.SetOwnerReferences(nil)
	}
	s.c.Status = v1beta1.EtcdClusterStatus{}
	s.claim("a-0").Annotations[v1beta1.AnnotationClusterID] = "c1"
	if step, because := plan.Next(s.look()); step.String() != "adopt members a-0, a-1, a-2 with their data" {
		t.Fatalf("%s (%s)", step, because)
	}
	s.c.Status = v1beta1.EtcdClusterStatus{
		ClusterID: "c1", NextSerial: 3, Bootstrap: &v1beta1.Bootstrap{Token: "u1", Members: []string{"a-0", "a-1", "a-2"}, Adopted: true},
	}
	var steps []string
	for range 4 {
		step, _ := plan.Next(s.look())
		if _, applies := step.(plan.Apply); applies {
			specs.Own(s.c, s.find("Service a"))
		}
		if attach, is := step.(plan.MarkPods); is {
			specs.Own(s.c, s.pod(attach.Pods[0].Name))
		}
		steps = append(steps, step.String())
	}
	want := "apply Service a, attach a-0 to the client service, attach a-1 to the client service, attach a-2 to the client service"
	if got := strings.Join(steps, ", "); got != want {
		t.Errorf("steps: %s", got)
	}
	for _, name := range []string{"Secret a-peer-ca", "Secret a-client", "Service a-client", "PodDisruptionBudget a"} {
		if !slices.ContainsFunc(s.look().Objects, func(o cluster.Object) bool { return o.String() == name }) {
			t.Errorf("%s is not adopted", name)
		}
	}
}

// TestWhatIsAdopted: all of the labels, no owner, and of an authority that it can sign.
func TestWhatIsAdopted(t *testing.T) {
	for name, test := range map[string]struct {
		spoil   func(*scene)
		foreign string
	}{
		"as it was made": {func(*scene) {}, ""},
		"without a label": {func(s *scene) {
			delete(s.find("Service a-client").GetLabels(), v1beta1.LabelCluster)
		}, "Service a-client"},
		"of another cluster": {func(s *scene) {
			s.find("Secret a-client").GetLabels()[v1beta1.LabelCluster] = "b"
		}, "Secret a-client"},
		"of another tool": {func(s *scene) {
			s.find("PodDisruptionBudget a").GetLabels()[specs.ManagedByLabel] = "Helm"
		}, "PodDisruptionBudget a"},
		"an authority that cannot sign": {func(s *scene) {
			s.find("Secret a-peer-ca").(*corev1.Secret).Data = nil
		}, "Secret a-peer-ca"},
	} {
		s := newScene(t)
		for _, object := range s.objects {
			object.SetOwnerReferences(nil)
		}
		test.spoil(s)
		var named []string
		for _, o := range s.look().Foreign {
			named = append(named, o.String())
		}
		if got := strings.Join(named, ", "); got != test.foreign {
			t.Errorf("%s: foreign are %q, want %q", name, got, test.foreign)
		}
	}
}
