package report_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/report"
)

// TestBusyMembersAreNoFaultOfTheNetwork: a member that accepts the connection is not behind a network policy.
func TestBusyMembersAreNoFaultOfTheNetwork(t *testing.T) {
	for slow, want := range map[int]string{3: "CPU", 2: "network policies", 0: "network policies"} {
		v := healthy()
		v.Unread = "no member answers (a-0: seen)"
		for i := range v.Members {
			v.Members[i].Answers, v.Members[i].Healthy, v.Members[i].Slow = false, false, i < slow
		}
		status := report.Status(&v1alpha1.EtcdCluster{}, v, plan.Wait{For: "etcd to answer"}, nil)
		available := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionAvailable)
		if available.Reason != v1alpha1.ReasonUnreachable || !strings.Contains(available.Message, want) ||
			!strings.Contains(available.Message, v.Unread) || strings.Contains(available.Message, "CPU") != (want == "CPU") {
			t.Errorf("%d are slow: %+v", slow, available)
		}
	}
}
