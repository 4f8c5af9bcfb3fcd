// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// A lead is the leader that a member follows, and the term of the election that made it leader.
type lead struct{ leader, term uint64 }

// follows is the leader that the member follows, by its last answer.
func (a *Answer) follows() lead {
	if a.Again != nil {
		return lead{a.Again.LeaderID, a.Again.RaftTerm}
	}
	return lead{a.Status.LeaderID, a.Status.RaftTerm}
}

// serves says whether the member is a voter that has answered a linearizable read.
func (a *Answer) serves() bool { return a.Err == nil && a.WasRead && a.Read == nil }

func (a *Answer) clusterID() string { return strconv.FormatUint(a.Status.ClusterID, 16) }

// foreign says which other data a member has that answered, if it is not its own. An unknown
// cluster ID or member ID is no proof.
func (a *Answer) foreign(clusterID string, id uint64) string {
	switch {
	case a.Err != nil:
		return ""
	case clusterID != "" && a.clusterID() != clusterID:
		return fmt.Sprintf("its data is of cluster %s, not of %s", a.clusterID(), clusterID)
	case id != 0 && a.Status.MemberID != id:
		return fmt.Sprintf("its data is of member %x, not of %x, as which etcd lists it", a.Status.MemberID, id)
	default:
		return ""
	}
}

// note records what the member reports of itself.
func (a *Answer) note(m *cluster.Member) {
	if a.Err != nil {
		m.Slow = etcd.IsSlow(a.Err)
		return
	}
	m.Answers = true
	m.ClusterID = a.clusterID()
	m.Version = a.Status.Version
	m.DBSize, m.InUse = a.Status.DBSize, a.Status.DBSizeInUse
	m.Revision, m.Index = a.Status.Revision, a.Status.RaftIndex
	m.Complaint = complaint(a.Status.Errors)
}

// complaint leaves out what the view says in other words. etcd reports its alarms in any
// order; here they are sorted, because every change of the message is a write.
func complaint(errors []string) string {
	var alarms []string
	for _, e := range errors {
		if !strings.Contains(e, "no leader") {
			alarms = append(alarms, e)
		}
	}
	slices.Sort(alarms)
	return strings.Join(alarms, ", ")
}

// newest is the lead of the newest term that a member knew of before it was read from.
func newest(answers []*Answer) lead {
	var led lead
	for _, a := range answers {
		if a.Err == nil && a.Status.LeaderID != 0 && a.Status.RaftTerm >= led.term {
			led = lead{a.Status.LeaderID, a.Status.RaftTerm}
		}
	}
	return led
}

// answerOf is what the leader has answered; nil if it is not among those that did. Followers
// name a dead leader until they elect another; a read would wait for that.
func answerOf(leader uint64, answers []*Answer) *Answer {
	for _, a := range answers {
		if a.Err == nil && leader != 0 && a.Status.MemberID == leader {
			return a
		}
	}
	return nil
}

// best is the voter whose log is the newest, of those whose answer is usable; nil if there is none.
func best(answers []*Answer, usable func(*Answer) bool) *Answer {
	var best *Answer
	for _, a := range answers {
		if usable(a) && !a.Status.Learner && (best == nil || a.Status.RaftAppliedIndex > best.Status.RaftAppliedIndex) {
			best = a
		}
	}
	return best
}

const locked = cluster.LockedBecause

// silences says how members failed to answer, by the error of the given call.
func silences(answers []*Answer, failed func(*Answer) error) string {
	var all []string
	for _, a := range answers {
		if seen := etcd.Silence(failed(a)); seen != "" {
			all = append(all, a.Member+": "+seen)
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return " (" + strings.Join(all, "; ") + ")"
}

// unreadBecause says why no member reports a leader, and whether etcd reports it to authenticated users only.
func unreadBecause(answers []*Answer) (because string, isLocked bool) {
	silent := silences(answers, func(a *Answer) error { return a.Err })
	because = "no member answers" + silent
	for _, a := range answers {
		switch {
		case a.Err == nil:
			return "the members have no leader" + silent, false
		case etcd.WantsUser(a.Err):
			because, isLocked = locked, true
		}
	}
	return because, isLocked
}
