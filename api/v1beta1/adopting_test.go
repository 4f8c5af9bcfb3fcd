// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestSizeWhileAdopting: a size of 0 does not count before the adoption is complete: members that have joined stay.
func TestSizeWhileAdopting(t *testing.T) {
	c := &v1beta1.EtcdCluster{}
	c.Spec.Size, c.Status.Members = ptr.To[int32](0), make([]v1beta1.MemberStatus, 2)
	if got := c.Size(); got != 0 {
		t.Errorf("without an adoption the size is %d", got)
	}
	c.Status.Adoption = &v1beta1.AdoptionStatus{}
	if got := c.Size(); got != 2 {
		t.Errorf("while two members have joined the size is %d", got)
	}
	c.Status.Adoption.CompletedAt = &metav1.Time{}
	if got := c.Size(); got != 0 {
		t.Errorf("after the adoption the size is %d", got)
	}
}
