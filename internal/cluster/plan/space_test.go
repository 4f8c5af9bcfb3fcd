// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"cmp"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// What databases and volumes of the toy etcd have if nothing else is said, in MiB: data, the quota, each volume, and what is free of a
// database that is to be defragmented. It is now so many seconds after 1970.
const (
	mib       = 1 << 20
	toyUsed   = 100
	toyQuota  = 1000
	toyVolume = 4096
	toyFree   = 850
	toyNow    = 1 << 20
)

// toySpace are the defaults of the spec.
var toySpace = cluster.Space{
	Defragments: true, InWindow: true, LeastFree: 100 * mib, FreePercent: 45, QuotaPercent: 75,
	Volume: toyVolume * mib, Given: toyVolume * mib, GivenLog: 384 * mib, QuotaGrows: true,
}

// space says how large databases are. Those that run are defragmented if they started so.
func (w *world) space() {
	for i := range w.view.Members {
		m := &w.view.Members[i]
		f := w.fate(m.Name)
		m.Pod.Defragments = m.Pod.Defragments && m.Pod.UID != w.view.Record.Defragmenting.Pod
		if !m.Answers {
			continue
		}
		if m.Pod.Defragments && !f.inVain {
			f.free = 0
		}
		m.Pod.Quota, m.Room = toyQuota*mib+w.view.Record.Grown, w.room(f)
		m.InUse = int64(cmp.Or(f.used, toyUsed)) * mib
		if m.DBSize = m.InUse + int64(f.free)*mib; w.full && w.history {
			m.InUse = m.DBSize
		}
		if f.tried {
			m.Defragmented = cluster.Defragmented{At: toyNow, Failed: true}
		}
	}
}

// room is what its volume has room for.
func (w *world) room(f *fate) cluster.Room {
	has := max(int64(cmp.Or(f.volume, toyVolume))*mib, w.view.Record.Grown)
	files, log := has/20*19, min(384*mib, has/4)
	return cluster.Room{Volume: has, Files: files, Log: log, Copied: (files - log) / 2}
}

// needsAnotherStart says whether a member is to start again to be defragmented, or because it does not start so.
func (w *world) needsAnotherStart(m cluster.Member) bool {
	chosen := w.view.Record.Defragmenting.Member == m.Name
	return chosen && !m.Pod.Defragments || !chosen && m.Pod.Defragments && m.Pod.Failing
}
