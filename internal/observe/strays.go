package observe

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// recorded are the members that nobody asked for, as the status remembers them: what is
// known of them while no member answers.
func recorded(c *v1alpha1.EtcdCluster) []cluster.UnknownMember {
	members := newJoin(c)
	var strays []cluster.UnknownMember
	for _, m := range c.Status.UnknownMembers {
		id, err := strconv.ParseUint(m.ID, 16, 64)
		if err != nil {
			continue
		}
		strays = append(strays, cluster.UnknownMember{
			ID: id, Name: m.Name, PeerURL: strings.Join(m.PeerURLs, ","), Voter: m.Role != v1alpha1.RoleLearner,
			Home: members.homeOf(m.PeerURLs),
		})
	}
	return strays
}

// hear takes down what one member remembers of the membership. It may be older than what
// is known of strays, so it is only added to that.
func hear(ctx context.Context, answers []*answer, v *cluster.View, members *join) {
	told, _ := listFrom(ctx, answers, members, false)
	v.Unknown = both(v.Unknown, told)
}

// both are all strays of two lists, by ID. Who is a voter in one of them may vote.
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

// isStray says whether the leader is a voter that nobody asked for, which is never asked
// itself: only a read tells whether it leads.
func isStray(leader uint64, strays []cluster.UnknownMember) bool {
	return slices.ContainsFunc(strays, func(s cluster.UnknownMember) bool { return s.Voter && s.ID == leader })
}
