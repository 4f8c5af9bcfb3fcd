// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// tlsStatus is by which schemes members are found and serve, in the status.
func tlsStatus(s cluster.TLSState) *v1beta1.TLSStatus {
	status := &v1beta1.TLSStatus{Mode: v1beta1.TLSDisabled, Phase: v1beta1.TLSStable}
	if s.Secure {
		status.Mode = v1beta1.TLSEnabled
	}
	switch s.Phase {
	case cluster.Advertised:
		status.Phase = v1beta1.TLSAdvertised
	case cluster.BothSchemes:
		status.Phase = v1beta1.TLSBoth
	case cluster.OneScheme:
	}
	if s.SwitchedAt != 0 {
		status.SwitchedAt = new(metav1.Unix(s.SwitchedAt, 0))
	}
	return status
}
