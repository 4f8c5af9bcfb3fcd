// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package log

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// KeptFrom is where what is kept of a lineage begins: the segments with anything after that revision, which is that of a full backup.
type KeptFrom struct {
	Lineage string `json:"lineage"`
	Base    int64  `json:"base"`
}

// KeepFrom says from where on the log of each lineage is needed, of which these full backups stay: from the oldest one on. A lineage
// without a full backup has no part in it.
func KeepFrom(backups []KeptFrom) []KeptFrom {
	oldestFirst := slices.SortedFunc(slices.Values(backups), func(a, b KeptFrom) int {
		return cmp.Or(cmp.Compare(a.Lineage, b.Lineage), cmp.Compare(a.Base, b.Base))
	})
	return slices.CompactFunc(oldestFirst, func(a, b KeptFrom) bool { return a.Lineage == b.Lineage })
}

// Retained is what is kept of the log of one cluster.
type Retained struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	// Lineage is that of the present, which is written now. Without a full backup all of it stays: one may be on its way.
	Lineage string     `json:"lineage"`
	From    []KeptFrom `json:"from,omitempty"` // one of each lineage that a full backup may be of; the others stay as they are
	// Gone is etcd's ID of a cluster, as lineages have it, of which no full backup is left: its lineages go as a whole, but the present one
	// and those with a higher number, which were not there yet when this was said. Empty: none goes.
	Gone string `json:"gone,omitempty"`
}

// Expired are the names, of some that follow each other in a listing, that are segments which nothing kept needs, in their order: the
// oldest first, so that at any moment what is left of a lineage is its end. What has another name, or is of another cluster, never is one
// of them. That a segment is not needed is seen by where the next one begins: the last one of the names stays, unless its lineage goes.
func (r Retained) Expired(names []string) (expired []string) {
	var before string // the segment whose end is looked for
	var in Folder
	for _, name := range names {
		f, first, ok := ParseName(name)
		if !ok || f.Namespace != r.Namespace || f.Cluster != r.Cluster {
			continue
		}
		from, stays := r.from(f.Lineage)
		if !stays {
			expired = append(expired, name)
			continue
		}
		if before != "" && f == in && first.Compare(Position{from + 1, 0}) <= 0 {
			expired = append(expired, before)
		}
		before, in = name, f
	}
	return expired
}

// from is the revision after which a lineage is kept; 0: all of it. It does not stay if nothing of it is kept. What is not known stays: an
// order may be carried out long after it was given, when there are other lineages.
func (r Retained) from(lineage string) (revision int64, stays bool) {
	for _, k := range r.From {
		if k.Lineage == lineage {
			return k.Base, true
		}
	}
	id, number := splitLineage(lineage)
	present, latest := splitLineage(r.Lineage)
	goes := r.Gone != "" && id == r.Gone && (id != present || number < latest)
	return 0, !goes
}

// splitLineage is the inverse of Lineage; the number is above all others if there is none.
func splitLineage(name string) (id string, number int64) {
	i := strings.LastIndexByte(name, '-')
	number, err := strconv.ParseInt(name[i+1:], 10, 64)
	if i < 0 || err != nil {
		return "", math.MaxInt64
	}
	return name[:i], number
}

// Problem says why it cannot be right; empty if it can. Without a present lineage everything could go.
func (r Retained) Problem() string {
	if problem := (Folder{r.Namespace, r.Cluster, r.Lineage}).problem(); problem != "" {
		return problem
	}
	if r.Gone != "" {
		if problem := (Folder{r.Namespace, r.Cluster, r.Gone}).problem(); problem != "" {
			return problem
		}
	}
	for _, k := range r.From {
		if problem := (Folder{r.Namespace, r.Cluster, k.Lineage}).problem(); problem != "" {
			return problem
		}
		if k.Base < 1 {
			return "lineage " + k.Lineage + " is kept from no full backup on"
		}
	}
	return ""
}
