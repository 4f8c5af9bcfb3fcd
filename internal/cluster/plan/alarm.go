// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// containCorruption only removes members while their data is known to differ, by etcd's alarm or by hashes: a member that has no
// data, and a member whose data is odd. Any other copy may be the last good one, and a member that joins may
// be given the bad one. Data is odd only if a majority of the voters has other data, by their hashes at one
// revision. The member that etcd has raised the alarm for proves nothing: etcd compares members with the
// leader, whose data may be the odd one.
func containCorruption(v cluster.View) Step {
	alarms := v.Raised(cluster.Corrupt)
	odd := v.Select(cluster.IsVoter, cluster.HasHashMismatch)
	if len(alarms) == 0 && len(odd) == 0 && v.Undecided == "" {
		return nil
	}
	for _, m := range v.Select(cluster.IsListed, cluster.IsLost) {
		if !m.Answers { // nothing is lost with it, and it can never be asked
			return remove(v, m, "its data is lost")
		}
	}
	switch {
	case len(odd) > 0:
		return removeOdd(v, odd)
	case len(alarms) == 0:
		return refuse("members do not have the same data, and nothing is changed, because it is not known whose differs: " + v.Undecided + findIt)
	default:
		return endCorrupt(v, alarms)
	}
}

// findIt is what a person does where the operator does not know whose data differs.
const findIt = "; find it with etcdctl endpoint hashkv, and remove that member with etcdctl member remove"

// endCorrupt ends the alarm if no member's data differs, and the one that it was raised for is gone.
func endCorrupt(v cluster.View, alarms cluster.Alarms) Step {
	raised := "etcd refuses every write, because it has raised the alarm " + alarms.String()
	left := slices.IndexFunc(alarms, func(a cluster.Alarm) bool { return a.Member == "" && a.ID != 0 })
	switch {
	case v.Undecided != "":
		return refuse(raised + "; nothing is changed, because it is not known which member's data differs: " + v.Undecided + "; find it with " +
			"etcdctl endpoint hashkv, remove that member with etcdctl member remove, and end the alarm with etcdctl alarm disarm")
	case v.Count(cluster.IsVoter) < 2:
		return refuse(raised + "; there is no other voter to compare its data with: check it, or restore it from a backup, " +
			"and end the alarm with etcdctl alarm disarm")
	case left >= 0:
		return DisarmAlarm{Kind: alarms[left].Kind, ID: alarms[left].ID, Because: "all voters have the same data, and that member is gone"}
	default:
		return refuse(raised + "; all voters have the same data by their hashes at one revision, so none is replaced: " +
			"find out why it was raised, and end it with etcdctl alarm disarm")
	}
}

// removeOdd removes members whose data differs: from the client Service, from leadership, and from etcd's
// list if the members that agree are a quorum without them. A learner is removed first: it may have been
// given their data.
func removeOdd(v cluster.View, odd []cluster.Member) Step {
	names := cluster.Names(odd)
	for _, m := range odd {
		if m.Pod.Exists() && !m.Pod.IsTerminating() && !m.Pod.IsDetached() {
			return mark(m, Detach)
		}
	}
	if leader, _ := v.Leader(); slices.Contains(names, leader.Name) {
		return handOver(v, leader, names...)
	}
	for _, m := range v.Select(cluster.IsLearner) {
		return remove(v, m, "it may have been given the data of "+list(names))
	}
	return remove(v, odd[0], "its data is not that of the other voters")
}

// isSuspect says whether the member's data is odd, or etcd has raised the alarm CORRUPT for it.
func isSuspect(v cluster.View) func(cluster.Member) bool {
	return func(m cluster.Member) bool {
		named := slices.ContainsFunc(v.Raised(cluster.Corrupt), func(a cluster.Alarm) bool { return a.Member == m.Name })
		return m.HashMismatch || named
	}
}
