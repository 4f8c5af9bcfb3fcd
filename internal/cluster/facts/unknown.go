// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// recorded are the unknown members in the status: all that is known of them while no member
// answers.
func recorded(c *v1beta1.EtcdCluster) []cluster.UnknownMember {
	var unknown []cluster.UnknownMember
	for _, m := range c.Status.UnknownMembers {
		id, err := strconv.ParseUint(m.ID, 16, 64)
		if err != nil {
			continue
		}
		_, home := place(c, m.PeerURLs)
		unknown = append(unknown, cluster.UnknownMember{
			ID: id, Name: m.Name, PeerURL: strings.Join(m.PeerURLs, ","), Voter: m.Role != v1beta1.RoleLearner, Home: home,
		})
	}
	return unknown
}

// readMemberLists adds the unknown members in the local list of one member. The list may be older than
// what is known of them, so it removes none.
func (j *builder) readMemberLists() {
	if j.LocalList != nil {
		j.v.Unknown = both(j.v.Unknown, j.list(j.LocalList, false))
	}
}

// both are all unknown members of two lists, by ID. A voter in either list may vote.
func both(known, local []cluster.UnknownMember) []cluster.UnknownMember {
	all := slices.Clone(local)
	for _, k := range known {
		i := slices.IndexFunc(all, func(s cluster.UnknownMember) bool { return s.ID == k.ID })
		if i < 0 {
			all = append(all, k)
			continue
		}
		all[i].Voter = all[i].Voter || k.Voter
	}
	slices.SortFunc(all, func(a, b cluster.UnknownMember) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// isUnknown says whether the leader is an unknown voter, which is never queried: only a read
// shows whether it leads.
func isUnknown(leader uint64, unknown []cluster.UnknownMember) bool {
	return slices.ContainsFunc(unknown, func(s cluster.UnknownMember) bool { return s.Voter && s.ID == leader })
}
