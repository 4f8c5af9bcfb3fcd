// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster/quorum"
)

// The alarms of etcd, by its own names (AlarmType in rpc.proto).
const (
	// Corrupt: etcd found that members do not have the same data, and refuses all writes.
	Corrupt = "CORRUPT"
	// NoSpace: a database has reached its quota, and etcd refuses all writes that need room.
	NoSpace = "NOSPACE"
)

// Alarm is an alarm that etcd has raised. It lasts until it is disarmed, also when the member that
// it was raised for was removed.
type Alarm struct {
	Kind   string
	ID     uint64 // of the member that it was raised for; 0 if etcd does not know which
	Member string // name of the member with this ID; empty if etcd lists none
}

// String is the alarm as people read it.
func (a Alarm) String() string {
	switch {
	case a.Member != "":
		return a.Kind + " of " + a.Member
	case a.ID != 0:
		return fmt.Sprintf("%s of member %x, which etcd lists no more", a.Kind, a.ID)
	default:
		return a.Kind + ", which names no member"
	}
}

// Alarms are alarms that people read together.
type Alarms []Alarm

// String is all alarms as people read them.
func (all Alarms) String() string { return strings.Join(Texts(all), ", ") }

// Raised are the alarms of one kind, Corrupt or NoSpace, by ID.
func (v View) Raised(kind string) Alarms {
	var all Alarms
	for _, a := range v.Alarms {
		if a.Kind == kind {
			all = append(all, a)
		}
	}
	return all
}

// A Hash is the hash of a voter's data, up to one revision that is the same for all voters. Two of them
// can be compared only if both have the same Compacted.
type Hash struct {
	Member    string
	Revision  int64 // up to which it is
	Sum       uint32
	Compacted int64         // revision up to which it has no history, which the sum depends on
	Unread    string        // why it was not read; empty if it was
	Took      time.Duration // that the member took, or was given in vain; 0 if it was refused
}

// Unreported says that the hash was not read, and why.
func (h Hash) Unreported() string {
	return h.Member + " has not reported the hash of its data: " + h.Unread
}

// Odd are the voters whose data is not that of a majority of all, in the order of hashes, and why they
// are not known; one of both is empty. Every voter must have reported its hash, after the same compaction.
func Odd(hashes []Hash) (odd []string, unknown string) {
	sums := map[uint32]int{}
	for _, h := range hashes {
		switch {
		case h.Unread != "":
			return nil, h.Unreported()
		case h.Compacted != hashes[0].Compacted:
			return nil, fmt.Sprintf("%s has compacted its data up to revision %d, and %s up to %d, so that their hashes cannot be compared",
				hashes[0].Member, hashes[0].Compacted, h.Member, h.Compacted)
		}
		sums[h.Sum]++
	}
	agreed := false
	for _, h := range hashes {
		if quorum.Holds(sums[h.Sum], len(hashes)) {
			agreed = true
		} else {
			odd = append(odd, h.Member)
		}
	}
	if !agreed {
		return nil, "no majority of the voters has the same data (" + hashTexts(hashes) + ")"
	}
	return odd, ""
}

// hashTexts are the hashes as a list, in the order of the members.
func hashTexts(hashes []Hash) string {
	all := make([]string, 0, len(hashes))
	for _, h := range hashes {
		all = append(all, fmt.Sprintf("%s: %08x", h.Member, h.Sum))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
