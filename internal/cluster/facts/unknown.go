package facts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// recorded are the members that nobody asked for, as the status remembers them: what is
// known of them while no member answers.
func recorded(c *v1alpha1.EtcdCluster) []cluster.UnknownMember {
	var unknown []cluster.UnknownMember
	for _, m := range c.Status.UnknownMembers {
		id, err := strconv.ParseUint(m.ID, 16, 64)
		if err != nil {
			continue
		}
		_, home := place(c, m.PeerURLs)
		unknown = append(unknown, cluster.UnknownMember{
			ID: id, Name: m.Name, PeerURL: strings.Join(m.PeerURLs, ","), Voter: m.Role != v1alpha1.RoleLearner, Home: home,
		})
	}
	return unknown
}

// readMemberLists takes down what one member remembers of the membership. It may be older than what
// is known of unknown members, so it is only added to that.
func (j *builder) readMemberLists() {
	if j.Told != nil {
		j.v.Unknown = both(j.v.Unknown, j.list(j.Told, false))
	}
}

// both are all unknown members of two lists, by ID. Who is a voter in one of them may vote.
func both(known, told []cluster.UnknownMember) []cluster.UnknownMember {
	all := slices.Clone(told)
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

// isUnknown says whether the leader is a voter that nobody asked for, which is never asked
// itself: only a read tells whether it leads.
func isUnknown(leader uint64, unknown []cluster.UnknownMember) bool {
	return slices.ContainsFunc(unknown, func(s cluster.UnknownMember) bool { return s.Voter && s.ID == leader })
}
