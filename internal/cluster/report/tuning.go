// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

func recommendations(all []cluster.Advice) []v1beta1.Recommendation {
	var them []v1beta1.Recommendation
	for _, a := range all {
		them = append(them, v1beta1.Recommendation{
			Setting: a.Setting, Now: a.Now, Wanted: a.Wanted, Why: a.Why, Since: metav1.Unix(a.Since, 0),
		})
	}
	return them
}

func autoscaled(s cluster.Scaled) *v1beta1.AutoscaleStatus {
	status := &v1beta1.AutoscaleStatus{Since: metav1.Unix(s.Since, 0), Refused: s.Refused}
	if s.CPU != 0 {
		status.CPU = new(v1beta1.QuantityOf(corev1.ResourceCPU, s.CPU))
	}
	if s.Memory != 0 {
		status.Memory = new(v1beta1.QuantityOf(corev1.ResourceMemory, s.Memory))
	}
	return status
}
