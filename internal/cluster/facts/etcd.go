// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// inSync is the part of the leader's log that etcd wants a learner to have
// before it may vote: readyPercent in etcd's server.go.
const inSync = 0.9

// etcd records what members have answered. The member list is that of one that has
// answered a linearizable read: no older list can then be true.
func (j *builder) etcd() {
	switch {
	case !j.v.Planned() && !j.v.Adoption.Wanted:
	case j.v.IsDisplaced():
		j.v.Unread = "members are not queried: " + j.v.Foreign[0].String() + " blocks the name of a member"
	case len(j.Answers) == 0:
		j.v.Unread = "no member runs"
	default:
		j.believe(j.credible())
		j.noteForeign()
	}
}

// believe records what members report, and the member list.
func (j *builder) believe(answers []*Answer) {
	for _, a := range answers {
		if !a.Source {
			a.note(j.member(a.Member))
		}
	}
	j.noteVersions(answers)
	led := newest(answers)
	if answerOf(led.leader, answers) == nil {
		j.noteRemains(answers)
		j.readMemberLists()
		if !isUnknown(led.leader, j.v.Unknown) {
			j.v.Unread, j.v.Locked = unreadBecause(answers)
			j.markLeader(led.leader)
			return
		}
	}
	j.noteList(answers, led)
	j.markLeader(led.leader)
	j.noteProgress(answers, led)
	j.noteAlarms(answers)
	j.noteDescent()
}

// noteList takes the member list of a member that a quorum has confirmed.
func (j *builder) noteList(answers []*Answer, led lead) {
	j.v.Split = j.split(answers, led)
	switch {
	case j.v.Split != "":
		j.v.Unread = j.v.Split
	case j.List != nil:
		j.v.Unknown = j.list(j.List, true)
	default:
		j.v.Unread = "no member answers a linearizable read" + silences(answers, func(a *Answer) error { return a.Read })
		if slices.ContainsFunc(answers, func(a *Answer) bool { return etcd.WantsUser(a.Read) }) { // some do not protect their status
			j.v.Unread, j.v.Locked = locked, true
		}
		j.readMemberLists()
	}
}

// credible are the answers of members that are not known to run on other data than
// their own: one that does may lead a cluster of its own, or have the identity of another member.
func (j *builder) credible() []*Answer {
	var own []*Answer
	for i, a := range j.Answers {
		switch {
		case a.Source && (isRepeated(j.Answers, i) || a.foreign(j.v.Record.ClusterID, 0) != ""):
		case a.Source, a.foreign(j.v.Record.ClusterID, j.member(a.Member).ID) == "":
			own = append(own, a)
		}
	}
	return own
}

// noteForeign marks the members that run on data that is not their own, by etcd's list if that
// was read, and drops what such a member reported.
func (j *builder) noteForeign() {
	for _, a := range j.Answers {
		if a.Source {
			continue
		}
		m := j.member(a.Member)
		foreign := a.foreign(j.v.Record.ClusterID, m.ID)
		if foreign == "" || m.Chosen { // it is of the cluster that this one becomes
			continue
		}
		m.Foreign, m.ClusterID = foreign, a.clusterID()
		m.Answers, m.Healthy, m.Leader, m.Synced = false, false, false, false
		m.Revision, m.Index, m.Behind = 0, 0, 0
	}
}

func (j *builder) markLeader(leader uint64) {
	for _, m := range j.members {
		m.Leader = leader != 0 && m.ID == leader
	}
}

// noteRemains records what data members have that serve no client: one that was restarted
// without a quorum serves none, and its data may be all that is left.
func (j *builder) noteRemains(answers []*Answer) {
	for _, a := range answers {
		if a.Source {
			continue
		}
		if m := j.member(a.Member); a.Err != nil && a.Remains.Index > 0 {
			m.Revision, m.Index, m.Lists, m.Unsigned = a.Remains.Revision, a.Remains.Index, a.Remains.Members, true
		}
	}
}

// noteProgress records which members are behind the leader, and which serve and follow the leader of all.
// All are asked at once, so it is only roughly true of a busy cluster.
func (j *builder) noteProgress(answers []*Answer, led lead) {
	var log uint64
	if leader := answerOf(led.leader, answers); leader != nil {
		log = leader.Status.RaftAppliedIndex
	}
	for _, a := range answers {
		if a.Err != nil || a.Source {
			continue
		}
		m, applied := j.member(a.Member), a.Status.RaftAppliedIndex
		m.Behind = log - min(log, applied)
		switch {
		case a.Status.Learner:
			m.Synced = log > 0 && float64(applied) >= inSync*float64(log)
			m.Healthy = a.Status.LeaderID == led.leader
		case a.serves() && a.follows() == led:
			m.Healthy, m.Confirmed = true, a.Revision
		}
	}
}

// split says which members serve reads and follow which leader, if one of them follows
// another than the newest: then there are two clusters of one ID, each with its own quorum.
// One that follows a newer leader only shows that there was an election since.
func (j *builder) split(answers []*Answer, led lead) string {
	var sides []string
	found := false
	for _, a := range answers {
		if !a.serves() || a.follows().term > led.term {
			continue
		}
		leader := a.follows().leader
		sides = append(sides, a.Member+" follows "+cmp.Or(j.named(leader), fmt.Sprintf("member %x", leader)))
		found = found || a.follows() != led
	}
	if !found {
		return ""
	}
	return "members follow different leaders, and each of them answers reads: " + strings.Join(sides, ", ")
}
