// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestExpires: a cluster is deleted when its time is over since its creation, not before, and never one whose
// volumes would stay.
func TestExpires(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*v1beta1.EtcdCluster)
		expires bool
	}{
		"over":                   {func(*v1beta1.EtcdCluster) {}, true},
		"a second is left":       {func(c *v1beta1.EtcdCluster) { c.Spec.ExpiresAfter.Duration += time.Second }, false},
		"it was taken away":      {func(c *v1beta1.EtcdCluster) { c.Spec.ExpiresAfter = nil }, false},
		"its volumes would stay": {func(c *v1beta1.EtcdCluster) { c.Spec.DeletionPolicy = v1beta1.Retain }, false},
	} {
		s := newGuarded(t, "")
		s.c.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
		s.c.Spec.ExpiresAfter, s.c.Spec.DeletionPolicy = &metav1.Duration{Duration: time.Hour}, v1beta1.Delete
		test.change(s.c)
		if got := s.look().Want.Expired; got != test.expires {
			t.Errorf("%s: expired %t", name, got)
		}
	}
}
