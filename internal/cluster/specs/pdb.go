// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Budget keeps so many Pods of members through drains and evictions. It counts
// what must stay, not what may go: a number that may go would still let a cluster
// be drained below its quorum while it shrinks.
//
// While the budget is not met, Pods that are not ready stay too: they may be on
// their way back.
func Budget(c *v1beta1.EtcdCluster, stay int) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: owned(c, c.Name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable:               ptr.To(intstr.FromInt(stay)),
			Selector:                   &metav1.LabelSelector{MatchLabels: MemberSelector(c)},
			UnhealthyPodEvictionPolicy: ptr.To(policyv1.IfHealthyBudget),
		},
	}
}
