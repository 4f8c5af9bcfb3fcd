package restore

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// TestReady: True where the cluster serves what the spec wants.
func TestReady(t *testing.T) {
	for phase, want := range map[v1alpha1.RestorePhase]metav1.ConditionStatus{
		v1alpha1.RestorePending: "False", v1alpha1.RestorePreviewed: "False", v1alpha1.RestoreBackingUp: "False",
		v1alpha1.RestoreRunning: "False", v1alpha1.RestoreUndoing: "False", v1alpha1.RestoreComplete: "True", v1alpha1.RestoreUndone: "True",
	} {
		restore := &v1alpha1.EtcdRestore{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
		s := said(View{Restore: restore}, phase, "Because", "so")
		ready := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Status != want || ready.ObservedGeneration != 3 || s.ObservedGeneration != 3 {
			t.Errorf("%s: %+v", phase, ready)
		}
	}
}
