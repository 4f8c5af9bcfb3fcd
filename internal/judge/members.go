package judge

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/etcd-operator/etcd-operator/api/v1alpha1"
	"github.com/etcd-operator/etcd-operator/internal/build"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// A join collects what each source knows of a member, by its name and never by
// its place in a list.
type join struct {
	cluster string
	host    func(member string) string // where its peers find it
	members map[string]*cluster.Member
	pods    map[string]*corev1.Pod // as they were read last
	chosen  map[string]string      // image that their volumes say the user had chosen
	emptied map[string]bool        // their etcd found its data directory empty
	// unmigrated is a member whose data etcd has yet to bring to its version, and why.
	unmigrated string
	unproven   bool // their volumes were adopted, and nobody has seen them since
}

// newJoin begins with the members that the record knows.
func newJoin(c *v1alpha1.EtcdCluster) *join {
	j := &join{
		cluster: c.Name, members: map[string]*cluster.Member{}, pods: map[string]*corev1.Pod{},
		chosen: map[string]string{}, emptied: map[string]bool{},
		host: func(member string) string { return build.Host(c, member) },
	}
	if c.Status.ClusterID == "" && c.Status.Bootstrap != nil {
		for _, name := range c.Status.Bootstrap.Members {
			j.member(name).Recorded = true
			j.member(name).Started = c.Status.Bootstrap.Adopted
		}
		j.unproven = c.Status.Bootstrap.Adopted
	}
	for _, known := range c.Status.Members {
		j.remember(known)
	}
	if c.Status.Joining != "" {
		j.member(c.Status.Joining)
	}
	return j
}

func (j *join) remember(known v1alpha1.MemberStatus) {
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

// roles are the words of the status for members that etcd lists.
var roles = map[string]cluster.Role{
	v1alpha1.RoleLeader: cluster.Voter, v1alpha1.RoleVoter: cluster.Voter, v1alpha1.RoleLearner: cluster.Learner,
}

func (j *join) member(name string) *cluster.Member {
	if m, ok := j.members[name]; ok {
		return m
	}
	m := &cluster.Member{Name: name}
	j.members[name] = m
	return m
}

// list replaces what the record says of the membership by etcd's own list, and
// returns the members that are not of this cluster's making. If no quorum has
// confirmed the list, it is one member's memory, which may be older than the record:
// then it is only added to that, if there is one.
func (j *join) list(listed []etcd.Member, confirmed bool) []cluster.UnknownMember {
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
		name, home := j.place(l.PeerURLs)
		if name == "" && known[l.ID] == l.Name {
			name = l.Name // somebody has given it another peer URL
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

// enter takes down what etcd lists of a member of ours.
func (j *join) enter(name string, l etcd.Member) {
	m := j.member(name)
	// First members are listed by name at once; what clients dial, only who has run tells.
	m.ID, m.Role, m.Started = l.ID, cluster.Voter, l.Name != "" && len(l.ClientURLs) > 0
	if l.Learner {
		m.Role = cluster.Learner
	}
}

// add takes down what one member remembers. A voter of the record stays one, and one that
// the record does not know and of which nothing is left was removed since.
func (j *join) add(name string, l etcd.Member) {
	m, known := j.members[name]
	if !known || m.Role == cluster.Voter || m.Role == cluster.Unlisted && !m.Pod.Exists() && m.Volume == cluster.NoVolume {
		return
	}
	started := m.Started
	j.enter(name, l)
	m.Started = m.Started || started
}

// place says where a peer URL belongs: the member of ours that it is of, or the other namespace in
// which a cluster of this name has such a member; both are empty for somebody else's. etcd keeps the
// URL that the operator gave it, while the name is what a member says of itself. A host may end in
// the cluster's domain.
func (j *join) place(urls []string) (name, home string) {
	if len(urls) == 0 {
		return "", ""
	}
	u, err := url.Parse(urls[0])
	if err != nil {
		return "", ""
	}
	labels := strings.Split(u.Hostname(), ".")
	ours := strings.Split(j.host(labels[0]), ".")
	switch {
	case cluster.Serial(j.cluster, labels[0]) < 0, len(labels) < len(ours), labels[1] != ours[1], labels[3] != ours[3]:
		return "", ""
	case labels[2] != ours[2]:
		return "", labels[2]
	default:
		return labels[0], ""
	}
}

func (j *join) sorted() []cluster.Member {
	members := make([]cluster.Member, 0, len(j.members))
	for _, m := range j.members {
		members = append(members, *m)
	}
	slices.SortFunc(members, func(a, b cluster.Member) int {
		return cluster.Serial(j.cluster, a.Name) - cluster.Serial(j.cluster, b.Name)
	})
	return members
}
