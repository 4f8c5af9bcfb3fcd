// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// TestPlanSaysWhatATrialHasProven: pages that are not checked again were checked in this very backup, and not in one before it.
func TestPlanSaysWhatATrialHasProven(t *testing.T) {
	passed := metav1.Condition{Type: v1beta1.ConditionVerified, Status: metav1.ConditionTrue}
	failed := metav1.Condition{Type: v1beta1.ConditionVerified, Status: metav1.ConditionFalse}
	for name, c := range map[string]struct {
		verified *v1beta1.Verification
		sum      string
		is       metav1.Condition
		proven   bool
	}{
		"a trial has passed":            {&v1beta1.Verification{}, "sum", passed, true},
		"none was wanted":               {nil, "sum", metav1.Condition{}, false},
		"a later one has failed":        {&v1beta1.Verification{}, "sum", failed, false},
		"it was replaced since":         {nil, "sum", passed, false},
		"which one it was is not known": {&v1beta1.Verification{}, "", passed, false},
	} {
		b := newBackup("a", 10, start)
		b.Status.Verified, b.Status.ManifestSHA256 = c.verified, c.sum
		b.Status.Conditions = append(b.Status.Conditions, c.is)
		cluster := newVolumesWorld(t, v1beta1.Restore{}).view.Cluster
		if got := restore.NewPlan(restore.BootstrapRequest(cluster), &b, restore.StartPoint{Now: start}).Verified; got != c.proven {
			t.Errorf("%s: %v", name, got)
		}
	}
}
