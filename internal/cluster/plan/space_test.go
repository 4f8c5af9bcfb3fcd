package plan_test

import (
	"github.com/etcd-operator/etcd-operator/internal/cluster"
)

// The quota of the toy etcd, and what its databases hold.
const (
	toyQuota = 1000 << 20
	toyFull  = 950 << 20
	toyPlain = 100 << 20
)

// space says how large databases are. Those that run are defragmented if they started so.
func (w *world) space() {
	for i := range w.view.Members {
		m := &w.view.Members[i]
		f := w.fate(m.Name)
		m.Fragmented = ""
		if w.view.Want.Ephemeral {
			m.NoRoom = "its data goes with its pod; run etcdctl defrag"
		}
		m.Pod.Defragments = m.Pod.Defragments && m.Pod.UID != w.view.Record.Defragmenting.Pod
		if !m.Answers {
			continue
		}
		f.fragmented = f.fragmented && (!m.Pod.Defragments || f.inVain)
		m.Pod.Quota, m.DBSize, m.InUse = toyQuota+w.view.Record.Grown, toyPlain, toyPlain
		if w.full && w.history || f.brimming {
			m.InUse = toyFull
		}
		if m.Tried = f.tried; f.fragmented && !f.tried && !w.view.Want.Ephemeral {
			m.Fragmented = "700 MiB of its database of 800 MiB are free"
		}
		if m.DBSize = m.InUse; f.fragmented {
			m.DBSize = toyFull
		}
	}
}

// needsAnotherStart says whether a member is to start again to be defragmented, or because it does not start so.
func (w *world) needsAnotherStart(m cluster.Member) bool {
	chosen := w.view.Record.Defragmenting.Member == m.Name
	return chosen && !m.Pod.Defragments || !chosen && m.Pod.Defragments && m.Pod.Failing
}
