// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// TestReady: True where the cluster serves what the spec wants.
func TestReady(t *testing.T) {
	for phase, want := range map[v1beta1.RestorePhase]metav1.ConditionStatus{
		v1beta1.RestorePending: "False", v1beta1.RestorePreviewed: "False", v1beta1.RestoreBackingUp: "False",
		v1beta1.RestoreRunning: "False", v1beta1.RestoreUndoing: "False", v1beta1.RestoreComplete: "True", v1beta1.RestoreUndone: "True",
	} {
		restore := &v1beta1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
		s := said(View{Restore: restore}, phase, "Because", "so")
		ready := meta.FindStatusCondition(s.Conditions, v1beta1.ConditionReady)
		if ready == nil || ready.Status != want || ready.ObservedGeneration != 3 || s.ObservedGeneration != 3 {
			t.Errorf("%s: %+v", phase, ready)
		}
	}
}
