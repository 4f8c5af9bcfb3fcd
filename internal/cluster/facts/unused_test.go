// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// unbound is a scene in which three volumes were made and wait for a disk. No Pod exists.
func unbound(t *testing.T) *scene {
	s := newScene(t)
	s.drop("Pod a-0", "Pod a-1", "Pod a-2")
	s.c.Status.ClusterID, s.c.Status.Members = "", nil
	for i := range 3 {
		s.claim(cluster.MemberName("a", i)).Status.Phase = corev1.ClaimPending
	}
	return s
}

// TestVolumesThatNeverHeldData: it is proven by Kubernetes that no disk was ever found, or by
// the note that no Pod was made. What may be filled from elsewhere counts as data.
func TestVolumesThatNeverHeldData(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.PersistentVolumeClaim)
		unused bool
	}{
		"pending":                     {func(*corev1.PersistentVolumeClaim) {}, true},
		"bound":                       {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimBound }, false},
		"nothing is known":            {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = "" }, false},
		"its disk is gone":            {func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimLost }, false},
		"bound, and no Pod was made":  {func(c *corev1.PersistentVolumeClaim) { bindUnused(c) }, true},
		"it is to get a certain disk": {func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "pv-1" }, false},
		"it had a disk": {func(c *corev1.PersistentVolumeClaim) {
			c.Annotations["pv.kubernetes.io/bind-completed"] = "yes"
		}, false},
		"from a snapshot": {func(c *corev1.PersistentVolumeClaim) {
			bindUnused(c)
			c.Spec.DataSource = &corev1.TypedLocalObjectReference{Kind: "VolumeSnapshot", Name: "s"}
		}, false},
		"from a populator": {func(c *corev1.PersistentVolumeClaim) {
			c.Spec.DataSourceRef = &corev1.TypedObjectReference{Kind: "Restore", Name: "r"}
		}, false},
		"chosen by labels": {func(c *corev1.PersistentVolumeClaim) { c.Spec.Selector = &metav1.LabelSelector{} }, false},
		"of a member that joined": {func(c *corev1.PersistentVolumeClaim) {
			delete(c.Annotations, v1beta1.AnnotationToken)
		}, false},
		"its cluster had formed": {func(c *corev1.PersistentVolumeClaim) {
			bindUnused(c)
			c.Annotations[v1beta1.AnnotationClusterID] = "c1"
		}, false},
	} {
		s := unbound(t)
		test.change(s.claim("a-1"))
		v := s.look()
		if m, _ := v.Member("a-1"); m.Unused != test.unused {
			t.Errorf("%s: unused is %v", name, m.Unused)
		}
	}
}

func bindUnused(c *corev1.PersistentVolumeClaim) {
	c.Status.Phase, c.Spec.VolumeName, c.Annotations[v1beta1.AnnotationUnused] = corev1.ClaimBound, "pv-1", "true"
}

// TestVolumesThatDoNotFit: a class or size that was corrected before any member has run. The
// default class has many names.
func TestVolumesThatDoNotFit(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scene)
		step   string
	}{
		"as wanted":     {func(*scene) {}, "start a-0, a-1, a-2"},
		"default class": {func(s *scene) { s.claim("a-1").Spec.StorageClassName = ptr.To("standard") }, "start a-0, a-1, a-2"},
		"another class": {func(s *scene) {
			s.c.Spec.Storage.StorageClassName = ptr.To("fast")
			s.claim("a-0").Spec.StorageClassName, s.claim("a-2").Spec.StorageClassName = ptr.To("fast"), ptr.To("fast")
		}, "delete volume a-1, which never held data"},
		"another size": {func(s *scene) {
			s.claim("a-1").Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("1Gi")
		}, "delete volume a-1, which never held data"},
		"another class, and it may hold data": {func(s *scene) {
			s.c.Spec.Storage.StorageClassName = ptr.To("fast")
			s.claim("a-1").Status.Phase = corev1.ClaimBound
		}, "start a-0, a-1, a-2"},
	} {
		s := unbound(t)
		test.change(s)
		if step, because := plan.Next(s.look()); step.String() != test.step {
			t.Errorf("%s: %s (%s)", name, step, because)
		}
	}
}

// TestFirstMembersAreChosenByWhatThereIs: a volume or a Pod that the cache does not show yet is
// not overlooked when first members are chosen, even if it is again.
func TestFirstMembersAreChosenByWhatThereIs(t *testing.T) {
	s := unbound(t)
	s.c.Status.Bootstrap, s.c.Status.NextSerial = nil, 0
	s.claim("a-0").Status.Phase = corev1.ClaimBound
	s.stale = []string{"PersistentVolumeClaim a-0", "PersistentVolumeClaim a-1", "PersistentVolumeClaim a-2"}
	if step, because := plan.Next(s.look()); step.String() != "adopt unfinished bootstrap of a-0, a-1, a-2" {
		t.Errorf("nothing planned: %s (%s)", step, because)
	}
	s = unbound(t)
	s.c.Spec.Size = ptr.To[int32](1)
	s.drop("PersistentVolumeClaim a-0", "PersistentVolumeClaim a-1")
	s.claim("a-2").Status.Phase = corev1.ClaimBound
	s.stale = []string{"PersistentVolumeClaim a-2"}
	if step, because := plan.Next(s.look()); plan.KindOf(step).Event == "BootstrapPlanned" {
		t.Errorf("a smaller size: %s (%s)", step, because)
	}
}

// TestHibernatedClustersReadTheCache: a cluster of size 0, or one that has formed, is looked at
// in the cache.
func TestHibernatedClustersReadTheCache(t *testing.T) {
	asleep, paused := unbound(t), unbound(t)
	asleep.c.Spec.Size, asleep.c.Status.Bootstrap = ptr.To[int32](0), nil
	paused.c.Spec.Paused, paused.c.Status.Bootstrap = true, nil
	smaller := newScene(t)
	smaller.c.Spec.Size = ptr.To[int32](1)
	for name, s := range map[string]*scene{"size 0": asleep, "paused": paused, "formed": smaller} {
		s.look()
		if slices.ContainsFunc(s.calls, func(call string) bool { return strings.HasPrefix(call, "List") }) {
			t.Errorf("%s: the API server itself is asked: %v", name, s.calls)
		}
	}
}
