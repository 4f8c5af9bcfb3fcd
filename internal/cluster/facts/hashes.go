// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/etcd/version"
)

// compares says whether the data of members can be compared at this look: while one does not start because of it, and else if every voter
// serves. Members of two minor versions are not compared: one of them may know fields that the other does not.
func (j *builder) compares() bool {
	if j.doesNotStart() {
		return true
	}
	voters, minors := 0, map[string]bool{}
	for _, m := range j.sorted() {
		switch {
		case m.Role == cluster.Voter && !m.Healthy:
			return false
		case m.Role == cluster.Voter:
			voters++
			minors[version.MinorOf(m.Version)] = true
		}
	}
	return isComparisonDue(j.Snapshot) && voters > 1 && len(minors) == 1
}

// doesNotStart says whether the etcd of a member does not start because other members have other data.
func (j *builder) doesNotStart() bool {
	return slices.ContainsFunc(j.sorted(), func(m cluster.Member) bool { return cluster.IsListed(m) && m.Differs && !m.Answers })
}

// noteComparison records what a comparison has shown, or which of its hashes are known if it goes on. Clients write meanwhile: a member
// counts as odd only if the comparison before has found a difference, too.
func (j *builder) noteComparison(answers []*Answer) {
	j.noteStopped(answers)
	hashes := j.hashes(answers)
	failed := slices.IndexFunc(hashes, func(h cluster.Hash) bool { return h.Unread != "" && h.Unread != notAsked })
	switch {
	case !hasBegun(j.Hashes, answers), len(hashes) < 2, j.doesNotStart():
		return
	case failed < 0 && slices.ContainsFunc(hashes, func(h cluster.Hash) bool { return h.Unread == notAsked }):
		j.v.Hashes.Read = slices.DeleteFunc(hashes, func(h cluster.Hash) bool { return h.Unread != "" })
		return
	}
	odd, c := cluster.Compare(hashes, j.comparedAt(answers))
	if failed >= 0 { // the others were not asked because of it
		c.Unknown = hashes[failed].Unreported()
	}
	last := j.c.Status.LastHashCheck
	c.Request = j.c.Annotations[v1beta1.AnnotationCheckHashes]
	c.First = c.Differ && (last == nil || last.Verdict != v1beta1.HashesDifferent || !slices.Equal(last.Members, c.Members))
	c.Speed = hashSpeed(hashes, largestInUse(answers))
	j.v.Hashes = c
	switch {
	case !c.Differ || c.First:
	case len(odd) == 0:
		j.v.Undecided = c.Message
	default:
		for _, name := range odd {
			j.member(name).HashMismatch = true
		}
	}
}

// hasBegun says whether members are being compared: a hash was read at this look, or at one before.
func hasBegun(earlier []cluster.Hash, answers []*Answer) bool {
	return len(earlier) > 0 || slices.ContainsFunc(answers, func(a *Answer) bool { return a.Hash != nil })
}

// comparedAt is the revision at which hashes were asked for.
func (j *builder) comparedAt(answers []*Answer) int64 {
	for _, a := range answers {
		if a.Hash != nil {
			return a.Hash.Revision
		}
	}
	if len(j.Hashes) > 0 {
		return j.Hashes[0].Revision
	}
	return 0
}

// noteStopped judges members whose etcd does not start because other members have other data. The data of such a member counts as damaged
// if all other voters have the same, and are a quorum. Otherwise one of the others may have the bad data.
func (j *builder) noteStopped(answers []*Answer) {
	var others []cluster.Hash
	var stopped []*cluster.Member
	voters := 0
	for _, h := range j.hashes(answers) {
		voters++
		if m := j.member(h.Member); m.Differs && !m.Answers {
			stopped = append(stopped, m)
		} else {
			others = append(others, h)
		}
	}
	if len(stopped) == 0 {
		return
	}
	unknown := cluster.Disagreement(others, voters)
	if unknown == "" {
		for _, m := range stopped {
			m.Damage = "its data is not that of the other voters, which have the same: etcd does not start on it"
		}
		return
	}
	j.v.Undecided = fmt.Sprintf("etcd of %s does not start because other members have other data, and %s", stopped[0].Name, unknown)
}
