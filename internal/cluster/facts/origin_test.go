// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// TestNothingFormsBesideAVolumeThatNoWatchShows: one that Helm took over, or that was
// brought back by hand, is data like any other. Without a label its cluster is not known.
func TestNothingFormsBesideAVolumeThatNoWatchShows(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*corev1.PersistentVolumeClaim)
		step  string
	}{
		"Helm took it over": {func(c *corev1.PersistentVolumeClaim) {
			c.Labels[specs.ManagedByLabel] = "Helm"
		}, "adopt members a-1 with their data"},
		"brought back by hand": {func(c *corev1.PersistentVolumeClaim) {
			c.Labels, c.Annotations = map[string]string{v1beta1.LabelCluster: "a"}, nil
		}, "adopt members a-1 with their data"},
		"without a label": {func(c *corev1.PersistentVolumeClaim) {
			c.Labels, c.Annotations = nil, nil
		}, "refuse: PersistentVolumeClaim a-1 is in the way: no label etcd-operator.dev/cluster says whose data it has, " +
			"set that to a if this cluster's; "},
		"of another cluster": {func(c *corev1.PersistentVolumeClaim) {
			c.Labels[v1beta1.LabelCluster] = "b"
		}, "refuse: PersistentVolumeClaim a-1 is in the way: its label etcd-operator.dev/cluster says that it has data of b; "},
	} {
		s := newScene(t)
		s.c.Status = v1beta1.EtcdClusterStatus{}
		s.drop("Pod a-0", "Pod a-1", "Pod a-2", "PersistentVolumeClaim a-0", "PersistentVolumeClaim a-2")
		test.spoil(s.claim("a-1"))
		if step, because := plan.Next(s.look()); !strings.HasPrefix(step.String(), test.step) {
			t.Errorf("%s: %s (%s)", name, step, because)
		}
	}
}

// TestVolumeOfAnotherClusterIsNotMounted: it is in a member's place, and what is written on it
// says that it is not the member's. What a Pod has mounted is left to what its etcd says.
func TestVolumeOfAnotherClusterIsNotMounted(t *testing.T) {
	for name, test := range map[string]struct {
		formed bool
		spoil  func(s *scene, c *corev1.PersistentVolumeClaim)
		why    string
	}{
		"its own":            {true, func(*scene, *corev1.PersistentVolumeClaim) {}, ""},
		"its own, of a plan": {false, func(*scene, *corev1.PersistentVolumeClaim) {}, ""},
		"it says nothing":    {true, func(_ *scene, c *corev1.PersistentVolumeClaim) { c.Annotations = nil }, ""},
		"nothing, beside a plan": {false, func(_ *scene, c *corev1.PersistentVolumeClaim) {
			c.Annotations = nil
		}, "it was not made for this cluster"},
		"another token": {true, func(_ *scene, c *corev1.PersistentVolumeClaim) {
			c.Annotations[v1beta1.AnnotationToken] = "u9"
		}, "it was not made for this cluster, whose first members have the token u1 and not \"u9\""},
		"another ID": {true, func(_ *scene, c *corev1.PersistentVolumeClaim) {
			c.Annotations[v1beta1.AnnotationClusterID] = "c9"
		}, "it has data of the cluster with ID c9, not c1"},
		"another token, and its volumes had none": {true, func(s *scene, c *corev1.PersistentVolumeClaim) {
			c.Annotations[v1beta1.AnnotationToken], s.c.Status.Bootstrap.Adopted = "u0", true
		}, ""},
		"another token, and no watch shows it": {true, func(s *scene, c *corev1.PersistentVolumeClaim) {
			c.Annotations[v1beta1.AnnotationToken], s.stale = "u9", []string{"PersistentVolumeClaim a-1"}
		}, "it was not made for this cluster"},
		"without a label": {true, func(s *scene, c *corev1.PersistentVolumeClaim) {
			c.Labels, s.stale = nil, []string{"PersistentVolumeClaim a-1"}
		}, "no label"},
		"another namespace": {true, func(_ *scene, c *corev1.PersistentVolumeClaim) {
			c.Annotations[v1beta1.AnnotationNamespace] = "old"
		}, "its data is of a cluster in namespace old"},
		"another tls.mode": {true, func(_ *scene, c *corev1.PersistentVolumeClaim) {
			c.Annotations[v1beta1.AnnotationTLSMode] = "Disabled"
		}, "its member was found with tls.mode Disabled, "},
		"the same tls.mode": {false, func(_ *scene, c *corev1.PersistentVolumeClaim) {
			c.Annotations[v1beta1.AnnotationTLSMode] = "Enabled"
		}, ""},
		"set aside": {true, func(_ *scene, c *corev1.PersistentVolumeClaim) {
			c.Annotations[v1beta1.AnnotationToken] = "u9"
			metav1.SetMetaDataLabel(&c.ObjectMeta, v1beta1.LabelQuarantined, "true")
		}, ""},
	} {
		for _, mounted := range []bool{false, true} {
			s := newScene(t)
			if !test.formed {
				s.c.Status.ClusterID, s.c.Status.Members = "", nil
			}
			if !mounted {
				s.drop("Pod a-1")
				s.etcd.Stop("a-1")
			}
			test.spoil(s, s.claim("a-1"))
			v := s.look()
			want := test.why
			if mounted {
				want = ""
			}
			if found := len(v.Foreign) > 0; found != (want != "") || found && !strings.HasPrefix(v.Foreign[0].Why, want) {
				t.Errorf("%s, mounted %v: foreign %+v", name, mounted, v.Foreign)
			}
		}
	}
}

// TestClustersWhoseServicesCollide: clusters a and a-client of one namespace would share the
// Service a-client. The one that comes second says so before anything is made for it.
func TestClustersWhoseServicesCollide(t *testing.T) {
	first, second := newScene(t), newScene(t)
	for _, s := range []*scene{first, second} {
		s.objects, s.c.Status = nil, v1beta1.EtcdClusterStatus{}
	}
	second.c.Name, second.c.UID = "a-client", "u2"
	first.objects = []client.Object{specs.HeadlessService(second.c)}
	second.objects = []client.Object{specs.ClientService(first.c)}
	for s, other := range map[*scene]string{first: "a-client", second: "a"} {
		step, because := plan.Next(s.look())
		if want := "refuse: Service a-client is in the way: it belongs to EtcdCluster " + other + "; "; !strings.HasPrefix(step.String(), want) {
			t.Errorf("%s (%s)", step, because)
		}
	}
}
