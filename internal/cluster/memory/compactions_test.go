// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"errors"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
)

// TestCompactionIsRemembered: while the alarm lasts, and for half a minute as one that frees; not one that has failed.
func TestCompactionIsRemembered(t *testing.T) {
	var m Cluster
	start := time.Unix(0, 0).Add(time.Hour)
	full := led("a-0")
	full.Alarms = []cluster.Alarm{{Kind: cluster.NoSpace, ID: 1}}
	look := func(v cluster.View, after time.Duration, revision int64, frees bool) {
		t.Helper()
		if got, is := m.Compacted(v, start.Add(after)); got != revision || is != frees {
			t.Errorf("after %s: revision %d, frees %t, want %d and %t", after, got, is, revision, frees)
		}
	}
	look(full, 0, 0, false)
	m.Note(full, plan.Compact{Revision: 7}, Ending{Err: errors.New("no quorum")}, start)
	look(full, 0, 0, false)
	m.Note(full, plan.Compact{Revision: 7}, Ending{}, start)
	look(full, 0, 7, true)
	look(full, freeing-1, 7, true)
	look(full, freeing, 7, false)
	unread := full
	unread.Alarms, unread.Unread = nil, "no member answers"
	look(unread, freeing, 7, false)
	look(led("a-0"), freeing, 0, false)
	look(full, freeing, 0, false)
}
