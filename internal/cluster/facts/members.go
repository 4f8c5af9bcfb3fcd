// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/specs"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// loadStatus begins with the members that the record knows.
func (j *builder) loadStatus() {
	if plan := j.c.Status.Bootstrap; plan != nil && j.c.Status.ClusterID == "" {
		for _, name := range plan.Members {
			m := j.member(name)
			m.Recorded, m.Started = true, plan.Adopted
		}
	}
	for _, known := range j.c.Status.Members {
		j.remember(known)
	}
	if j.c.Status.Joining != "" {
		j.member(j.c.Status.Joining)
	}
}

func (j *builder) remember(known v1beta1.MemberStatus) {
	role, listed := roles[known.Role]
	if !listed {
		return
	}
	m := j.member(known.Name)
	m.Recorded, m.Role, m.Version = true, role, known.Version
	m.Started = role == cluster.Voter
	if id, err := strconv.ParseUint(known.ID, 16, 64); err == nil {
		m.ID = id
	}
}

// roles are the roles in the status, of members that etcd lists.
var roles = map[string]cluster.Role{
	v1beta1.RoleLeader: cluster.Voter, v1beta1.RoleVoter: cluster.Voter, v1beta1.RoleLearner: cluster.Learner,
}

func (j *builder) member(name string) *cluster.Member {
	if m, ok := j.members[name]; ok {
		return m
	}
	m := &cluster.Member{Name: name}
	j.members[name] = m
	return m
}

// list replaces the membership in the record by etcd's own list, and returns the
// members that the operator has not added. If no quorum has confirmed the list, it is
// one member's local list, which may be older than the record: then it is only added
// to the record, if there is one.
func (j *builder) list(listed []etcd.Member, confirmed bool) []cluster.UnknownMember {
	known, recorded := map[uint64]string{}, false
	for _, m := range j.members {
		if m.ID != 0 {
			known[m.ID] = m.Name
		}
		recorded = recorded || cluster.IsListed(*m)
	}
	enter := j.enter
	if recorded && !confirmed {
		enter = j.add
	} else {
		for _, m := range j.members {
			m.Role, m.ID = cluster.Unlisted, 0
		}
	}
	var unknown []cluster.UnknownMember
	for _, l := range listed {
		name, home := place(j.c, l.PeerURLs)
		if name == "" && known[l.ID] == l.Name {
			name = l.Name // its peer URL was changed
		}
		if name == "" {
			unknown = append(unknown, cluster.UnknownMember{
				ID: l.ID, Name: l.Name, PeerURL: strings.Join(l.PeerURLs, ","), Voter: !l.Learner, Home: home,
			})
			continue
		}
		enter(name, l)
	}
	return unknown
}

// enter records what etcd lists of a member of ours.
func (j *builder) enter(name string, l etcd.Member) {
	m := j.member(name)
	// First members are listed by name at once; only one that has run reports its client URLs.
	m.ID, m.Role, m.Started = l.ID, cluster.Voter, l.Name != "" && len(l.ClientURLs) > 0
	m.OldPeerURLs = !slices.Equal(schemes(l.PeerURLs), schemes(specs.PeerURLs(j.c, name)))
	if l.Learner {
		m.Role = cluster.Learner
	}
}

// add records what one member remembers. A voter of the record stays one, and one that
// is not in the record and has no objects left was removed since.
func (j *builder) add(name string, l etcd.Member) {
	m, known := j.members[name]
	if !known || m.Role == cluster.Voter || m.Role == cluster.Unlisted && !m.Pod.Exists() && m.Volume == cluster.NoVolume {
		return
	}
	started := m.Started
	j.enter(name, l)
	m.Started = m.Started || started
}

// place says where a peer URL belongs: the member of ours that it is of, or the other namespace in
// which a cluster of this name has such a member; both are empty for any other URL. etcd keeps the
// URL that the operator gave it, while the name is what a member reports of itself. A host may end in
// the cluster's domain.
func place(c *v1beta1.EtcdCluster, urls []string) (name, home string) {
	if len(urls) == 0 {
		return "", ""
	}
	u, err := url.Parse(urls[0])
	if err != nil {
		return "", ""
	}
	labels := strings.Split(u.Hostname(), ".")
	ours := strings.Split(specs.Host(c, labels[0]), ".")
	switch {
	case cluster.Serial(c.Name, labels[0]) < 0, len(labels) < len(ours), labels[1] != ours[1], labels[3] != ours[3]:
		return "", ""
	case labels[2] != ours[2]:
		return "", labels[2]
	default:
		return labels[0], ""
	}
}

// named is the name of the member that etcd lists under that ID; empty if it lists none of ours.
func (j *builder) named(id uint64) string {
	for _, m := range j.sorted() {
		if id != 0 && m.ID == id {
			return m.Name
		}
	}
	return ""
}

func (j *builder) sorted() []cluster.Member {
	members := make([]cluster.Member, 0, len(j.members))
	for _, m := range j.members {
		members = append(members, *m)
	}
	slices.SortFunc(members, func(a, b cluster.Member) int {
		return cluster.Serial(j.c.Name, a.Name) - cluster.Serial(j.c.Name, b.Name)
	})
	return members
}
