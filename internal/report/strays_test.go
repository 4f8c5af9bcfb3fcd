package report_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/plan"
	"github.com/etcd-operator/etcd-operator/internal/report"
)

// TestStrayVotersServe: a cluster is available that has its quorum with voters which
// somebody else added, and only as long as a read says so.
func TestStrayVotersServe(t *testing.T) {
	for unread, want := range map[string]metav1.ConditionStatus{"": metav1.ConditionTrue, "no leader": metav1.ConditionFalse} {
		v := with(func(v *cluster.View) {
			down(v, "a-1", "a-2")
			v.Unread = unread
			v.Strays = []cluster.Stray{{ID: 7, Name: "b-0", Voter: true}, {ID: 8, Name: "b-1", Voter: true}, {ID: 9, Name: "b-2", Voter: true}}
		})
		status := report.Status(formed(), v, plan.Refuse{Because: "etcd lists a member that is not ours"}, nil)
		available := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAvailable)
		told := strings.Contains(available.Message, "with 3 voters that are not the operator's")
		if available.Status != want || told != (want == metav1.ConditionTrue) {
			t.Errorf("unread %q: %+v", unread, available)
		}
	}
}
