// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// lastingUnproven is the loss of quorum of a cluster whose volumes were adopted and whose member list
// was not read since. Its voters are the members that were adopted and the first members
// that their volumes name. If the data of the best survivor shows how many there are,
// that number counts: members may have joined and left.
//
// It is judged when etcd has had the time to elect a leader, and a survivor has reported what
// data it has. Only a person may act on it.
func lastingUnproven(v cluster.View) (QuorumLoss, bool) {
	loss := lossOf(adopted(v))
	best := loss.best()
	if v.Fresh || len(loss.Survivors) > 0 && best.Index == 0 {
		return loss, false
	}
	if best.Lists > 0 {
		loss.Voters = best.Lists
	}
	return loss, loss.lasts(v.UnknownVoters())
}

// adopted are the voters that an adopted cluster is known to have had, by serial number.
func adopted(v cluster.View) []cluster.Member {
	names := slices.Clone(v.Record.First)
	for _, volume := range v.Volumes {
		names = append(names, volume.First...)
	}
	voters := make([]cluster.Member, 0, len(names))
	for _, name := range names {
		if slices.ContainsFunc(voters, func(m cluster.Member) bool { return m.Name == name }) {
			continue
		}
		m, _ := v.Member(name)
		m.Role = cluster.Voter
		voters = append(voters, m)
	}
	slices.SortFunc(voters, func(a, b cluster.Member) int { return cluster.Serial(v.Name, a.Name) - cluster.Serial(v.Name, b.Name) })
	return voters
}

// etcd lists no member under the name that it has here, and each listed member would count as unknown.
func leaveMoved(v cluster.View) Step {
	if v.Count(cluster.IsListed) > 0 {
		return nil
	}
	for _, s := range v.Unknown {
		if s.Home != "" {
			return refuse(fmt.Sprintf("etcd lists its member at %s: %s", s.PeerURL, cluster.Elsewhere(s.Home)))
		}
	}
	return nil
}
