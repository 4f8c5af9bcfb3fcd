// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// noteAlarms records the alarms that etcd has raised. Every member reports all alarms; one that is
// behind may report one that was disarmed, which then counts for a moment longer.
func (j *builder) noteAlarms(answers []*Answer) {
	for _, a := range answers {
		if a.Err != nil {
			continue
		}
		for _, raised := range a.Status.Alarms {
			alarm := cluster.Alarm{Kind: raised.Kind, ID: raised.MemberID, Member: j.named(raised.MemberID)}
			if !slices.Contains(j.v.Alarms, alarm) {
				j.v.Alarms = append(j.v.Alarms, alarm)
			}
		}
	}
	slices.SortFunc(j.v.Alarms, func(a, b cluster.Alarm) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.ID, b.ID))
	})
	switch {
	case j.v.Unread != "":
	case len(j.v.Raised(cluster.Corrupt)) > 0:
		j.noteOdd(answers)
	default:
		j.noteComparison(answers)
	}
}

// noteOdd finds the members whose data differs, while etcd reports that the data of one does. Nothing
// is written meanwhile, so that all voters can be asked for the same revision.
func (j *builder) noteOdd(answers []*Answer) {
	if n := j.v.UnknownVoters(); n > 0 {
		j.v.Undecided = fmt.Sprintf("unknown voters are not asked for the hash of their data: %d", n)
		return
	}
	odd, undecided := cluster.Odd(j.hashes(answers))
	j.v.Undecided = undecided
	for _, name := range odd {
		j.member(name).HashMismatch = true
	}
}

const (
	silent   = "it does not answer"
	notAsked = "it was not asked"
)

// hashes are those of all voters.
func (j *builder) hashes(answers []*Answer) []cluster.Hash {
	var hashes []cluster.Hash
	for _, m := range j.sorted() {
		if !cluster.IsVoter(m) {
			continue
		}
		hash := cluster.Hash{Member: m.Name, Unread: silent}
		for _, a := range answers {
			switch {
			case a.Member != m.Name:
			case a.Hash != nil:
				hash = *a.Hash
			case a.serves():
				hash.Unread = notAsked
			}
		}
		hashes = append(hashes, hash)
	}
	return hashes
}
