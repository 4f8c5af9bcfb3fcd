package observe

import (
	"fmt"
	"strconv"
)

// credible are the answers of members that are not known to run on other data than
// their own: one that does may lead a cluster of its own, or speak as somebody else.
func credible(answers []*answer, clusterID string, members *join) []*answer {
	var own []*answer
	for _, a := range answers {
		if a.err != nil || a.foreign(clusterID, members.member(a.name).ID) == "" {
			own = append(own, a)
		}
	}
	return own
}

// noteForeign says who runs on data that is not its own, by etcd's list if that was
// read, and forgets what such a member said.
func noteForeign(answers []*answer, clusterID string, members *join) {
	for _, a := range answers {
		m := members.member(a.name)
		if a.err != nil || a.foreign(clusterID, m.ID) == "" {
			continue
		}
		m.Foreign, m.ClusterID = a.foreign(clusterID, m.ID), a.clusterID()
		m.Answers, m.Healthy, m.Leader, m.Synced = false, false, false, false
		m.Revision, m.Index, m.Behind = 0, 0, 0
	}
}

// foreign says whose data a member has that answered, if it is not its own. What is
// not known of the cluster or the member is no proof.
func (a *answer) foreign(clusterID string, id uint64) string {
	switch {
	case clusterID != "" && a.clusterID() != clusterID:
		return fmt.Sprintf("its data is of cluster %s, not of %s", a.clusterID(), clusterID)
	case id != 0 && a.status.MemberID != id:
		return fmt.Sprintf("its data is of member %x, not of %x, as which etcd lists it", a.status.MemberID, id)
	default:
		return ""
	}
}

func (a *answer) clusterID() string { return strconv.FormatUint(a.status.ClusterID, 16) }
