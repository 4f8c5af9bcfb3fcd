// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"cmp"
	"slices"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
)

// Members are those that may be asked for a snapshot, in that order: those that answer first, the leader after the other voters, so that it
// has less to do, a learner last, because it serves nothing but the snapshot itself.
func Members(c *v1beta1.EtcdCluster) []jobspec.Member {
	return listed(c, func(m v1beta1.MemberStatus) bool { return m.ID != "" })
}

// Voters are those of them that serve keys.
func Voters(c *v1beta1.EtcdCluster) []jobspec.Member {
	return listed(c, func(m v1beta1.MemberStatus) bool {
		return m.ID != "" && (m.Role == v1beta1.RoleVoter || m.Role == v1beta1.RoleLeader)
	})
}

func listed(c *v1beta1.EtcdCluster, are func(v1beta1.MemberStatus) bool) (all []jobspec.Member) {
	sorted := slices.SortedStableFunc(slices.Values(c.Status.Members), func(a, b v1beta1.MemberStatus) int {
		return cmp.Or(cmp.Compare(distance(a), distance(b)), cmp.Compare(a.Name, b.Name))
	})
	for _, m := range sorted {
		if are(m) {
			all = append(all, jobspec.Member{
				Name: m.Name, ID: m.ID, Address: specs.ClientAddress(c, m.Name), Learner: m.Role == v1beta1.RoleLearner,
			})
		}
	}
	return all
}

// distance is how late a member is asked.
func distance(m v1beta1.MemberStatus) int {
	switch {
	case m.Role == v1beta1.RoleLearner:
		return 3
	case !m.Healthy:
		return 2
	case m.Role == v1beta1.RoleLeader:
		return 1
	default:
		return 0
	}
}
