// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package drill_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/drill"
)

// TestRestoredClusterIsAsLarge: the throw-away cluster has what the members have by now, and their quota: a restore that fits the members
// fits it.
func TestRestoredClusterIsAsLarge(t *testing.T) {
	c := &v1beta1.EtcdCluster{}
	c.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}
	c.Spec.Autoscale = &v1beta1.Autoscale{Max: v1beta1.AutoscaleMax{Memory: ptr.To(resource.MustParse("1Gi"))}}
	c.Spec.Etcd.Quota = ptr.To(resource.MustParse("4Gi"))
	c.Status.Autoscale = &v1beta1.AutoscaleStatus{Memory: ptr.To(resource.MustParse("512Mi"))}
	made := drill.RestoredCluster(&v1beta1.EtcdDrill{}, c, v1beta1.DrillBackup{}).Spec
	if memory := made.Resources.Limits[corev1.ResourceMemory]; memory.Value() != 512<<20 || made.Etcd.Quota.Value() != 4<<30 {
		t.Errorf("%+v, quota %s", made.Resources, made.Etcd.Quota)
	}
}
