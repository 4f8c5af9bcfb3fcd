// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

const (
	// fewestEntries is how many entries of the log make a mean. etcd adds some of its own, which are small.
	fewestEntries = 1000
	// largestFor is for how long the largest mean counts: the log has to fit while large values are written.
	largestFor = time.Hour
)

// entries are how large those of the log are.
type entries struct {
	last    map[string]cluster.Log // by member: from where the next mean counts
	largest float64
	at      time.Time
}

// EntrySize is how many bytes an entry of the log has: the largest mean of the last hour, of a thousand entries or more; 0 if it is not
// known.
func (m *Cluster) EntrySize() int64 { return int64(m.entries.largest) }

// measure takes the mean of each member that has applied enough entries since the last one. All write the same log.
func (e *entries) measure(v cluster.View, now time.Time) {
	last := map[string]cluster.Log{}
	for _, is := range v.Speeds {
		was := e.last[is.Member]
		size, known := is.Log.Since(was, fewestEntries)
		if last[is.Member] = is.Log; !known && is.Log.Started == was.Started {
			last[is.Member] = was
		}
		if known && (size >= e.largest || now.Sub(e.at) >= largestFor) {
			e.largest, e.at = size, now
		}
	}
	e.last = last
}
