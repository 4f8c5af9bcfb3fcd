// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

const (
	// growthSample is between two samples of how much data a member has.
	growthSample = 5 * time.Minute
	// growthWindow is how far back growth is measured; growthLeast is the least that counts: a burst of minutes is no trend.
	growthWindow = time.Hour
	growthLeast  = 15 * time.Minute
)

// growth is how much data members had in the last hour, by their names, the oldest sample first.
type growth map[string][]sample

type sample struct {
	at    time.Time
	bytes int64
}

// mark adds a sample of each member that says how much data it has, and by how much that grows in an hour.
func (g *growth) mark(v cluster.View, now time.Time) {
	kept := growth{}
	for i := range v.Members {
		m := &v.Members[i]
		all := (*g)[m.Name]
		for len(all) > 0 && now.Sub(all[0].at) > growthWindow {
			all = all[1:]
		}
		if m.Answers && (len(all) == 0 || now.Sub(all[len(all)-1].at) >= growthSample) {
			all = append(all, sample{now, m.InUse})
		}
		if len(all) > 0 {
			kept[m.Name] = all
			if took := now.Sub(all[0].at); m.Answers && took >= growthLeast {
				m.HourlyGrowth = int64(float64(m.InUse-all[0].bytes) * float64(time.Hour) / float64(took))
			}
		}
	}
	*g = kept
}
