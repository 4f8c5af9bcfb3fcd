// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// defragmented writes into the status what the defragmentation that has ended has given back. Timed adds when.
func defragmented(status *v1beta1.EtcdClusterStatus, v cluster.View, s plan.Record) {
	was := v.Record.Defragmenting
	if was.Member == "" || s.Fact.Defragmenting.Member != "" {
		return
	}
	i := slices.IndexFunc(status.Members, func(m v1beta1.MemberStatus) bool { return m.Name == was.Member })
	if i < 0 {
		return
	}
	m, _ := v.Member(was.Member)
	status.Members[i].LastDefragmentation = &v1beta1.MemberDefragmentation{
		Before: *resource.NewQuantity(was.Size, resource.BinarySI), After: *resource.NewQuantity(m.DBSize, resource.BinarySI),
		Failure: shortened(s.Failed), Request: v.Want.Defragment,
	}
}
