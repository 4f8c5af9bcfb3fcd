// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package act

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// memberServices are the Services of single members that the step names, to be applied or deleted.
func memberServices(c *v1beta1.EtcdCluster, s plan.Apply) (all []*corev1.Service) {
	asked := v1beta1.MemberService{}
	if c.MemberServiceType() != "" {
		asked = *c.Spec.ClientService.PerMember
	}
	for _, object := range s.Objects {
		member, is := strings.CutSuffix(object.Name, v1beta1.MemberServiceOf(""))
		if is && object.Kind == "Service" && cluster.Serial(c.Name, member) >= 0 {
			all = append(all, specs.MemberService(c, member, asked))
		}
	}
	return all
}
