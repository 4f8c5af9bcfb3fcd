// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// freeing is how long etcd may take to drop history after it was asked to: it deletes a thousand revisions at a time, with a pause of ten
// milliseconds (--compaction-batch-limit), which is three million revisions.
const freeing = 30 * time.Second

// compaction is the last one that this process has asked for because of NOSPACE. Another process does not know of it and asks again,
// which changes nothing.
type compaction struct {
	revision int64
	at       time.Time
}

func (c *compaction) note(step plan.Step, now time.Time) {
	if s, is := step.(plan.Compact); is {
		*c = compaction{s.Revision, now}
	}
}

// Compacted is the revision up to which history was dropped while etcd has the alarm NOSPACE, and whether etcd may still be freeing it.
func (m *Cluster) Compacted(v cluster.View, now time.Time) (revision int64, isFreeing bool) {
	if v.Unread == "" && len(v.Raised(cluster.NoSpace)) == 0 {
		m.compaction = compaction{}
	}
	return m.compaction.revision, m.compaction.revision > 0 && now.Sub(m.compaction.at) < freeing
}
