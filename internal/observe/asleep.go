package observe

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
)

// isAsleep says whether the cluster hibernates, and was found to do so rightly by an earlier
// look at this very spec: no member ran by the word of the API server, and nothing was wrong.
// Nothing is made or changed until the spec is, so what the watches do not show need not be looked
// for again: any number of such clusters asks for nothing.
func isAsleep(c *v1alpha1.EtcdCluster, members *join) bool {
	if c.Size() > 0 || members.anyPod() || c.Status.ObservedGeneration != c.Generation {
		return false
	}
	available := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionAvailable)
	return available != nil && available.Reason == v1alpha1.ReasonHibernated && c.Status.Replicas == 0 &&
		meta.IsStatusConditionPresentAndEqual(c.Status.Conditions, v1alpha1.ConditionDegraded, metav1.ConditionFalse)
}
