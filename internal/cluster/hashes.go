// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "github.com/etcd-operator/etcd-operator/internal/cluster/quorum"

// A Comparison is one of the data of all voters, by their hashes at one revision. It is empty if none was made at this look.
type Comparison struct {
	Revision int64
	Members  []string // that were compared, by serial number
	Differ   bool     // not all have the same data
	First    bool     // of those that differ: the comparison before did not find that
	Unknown  string   // why it is not known whether they do; empty if it is
	Message  string   // whose data differs, or that no majority has the same
	Request  string   // what the annotation that asks for a comparison has
	Speed    int64    // bytes that the slowest member has hashed in a second; 0: not measured
	Read     []Hash   // of a comparison that goes on at the next look: nothing else is known of it yet
}

// IsMade says whether members were compared.
func (c Comparison) IsMade() bool { return len(c.Members) > 0 }

// differ says whether hashes that can be compared are not all the same.
func differ(hashes []Hash) bool {
	for _, h := range hashes {
		if h.Sum != hashes[0].Sum {
			return true
		}
	}
	return false
}

// Compare compares the data of voters: whose data is not that of a majority, and what there is to say of all.
func Compare(hashes []Hash, revision int64) (odd []string, c Comparison) {
	c.Revision = revision
	for _, h := range hashes {
		c.Members = append(c.Members, h.Member)
	}
	odd, unknown := Odd(hashes)
	switch {
	case unknown == "" && len(odd) == 0:
	case unknown == "":
		c.Differ, c.Message = true, "the data of "+odd[0]+" is not that of the other voters ("+hashTexts(hashes)+")"
	case isComparable(hashes) && differ(hashes):
		c.Differ, c.Message = true, unknown
	default:
		c.Unknown = unknown
	}
	return odd, c
}

// Disagreement says why these voters do not outvote all others: they are no quorum of so many voters, or do not have the same data as far
// as is known. It is empty if they do.
func Disagreement(hashes []Hash, voters int) string {
	odd, unknown := Odd(hashes)
	switch {
	case unknown != "":
		return unknown
	case len(odd) > 0:
		return "the others do not have the same data either (" + hashTexts(hashes) + ")"
	case !quorum.Holds(len(hashes), voters):
		return "the others are no quorum"
	default:
		return ""
	}
}

// isComparable says whether all hashes were read, after the same compaction.
func isComparable(hashes []Hash) bool {
	for _, h := range hashes {
		if h.Unread != "" || h.Compacted != hashes[0].Compacted {
			return false
		}
	}
	return true
}
