// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestReady: True once the backup is stored, and verified where that is wanted.
func TestReady(t *testing.T) {
	for _, test := range []struct {
		complete, verified metav1.ConditionStatus
		why                string // of the condition Verified
		want               metav1.ConditionStatus
		reason             string
	}{
		{"False", "Unknown", v1beta1.ReasonNotComplete, "False", "Running"},
		{"True", "Unknown", v1beta1.ReasonNotWanted, "True", "Running"},
		{"True", "Unknown", v1beta1.ReasonVerificationPending, "False", v1beta1.ReasonVerificationPending},
		{"True", "True", v1beta1.ReasonTrialPassed, "True", v1beta1.ReasonTrialPassed},
		{"True", "False", v1beta1.ReasonJobCorrupt, "False", v1beta1.ReasonJobCorrupt},
	} {
		got := ready(metav1.Condition{Type: v1beta1.ConditionComplete, Status: test.complete, Reason: "Running"},
			metav1.Condition{Type: v1beta1.ConditionVerified, Status: test.verified, Reason: test.why})
		if got.Type != v1beta1.ConditionReady || got.Status != test.want || got.Reason != test.reason {
			t.Errorf("Complete %s, Verified %s %s: %+v", test.complete, test.verified, test.why, got)
		}
	}
}
