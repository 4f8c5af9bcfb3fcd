// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore_test

import (
	"math"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/restore"
)

// TestNoRevisionComesTwice: of restores of one backup one after the other, the later one begins above all that the earlier one can have
// reached meanwhile. So it is if the backup is of a cluster that was itself restored a moment ago, or whose revisions are ahead of time.
func TestNoRevisionComesTwice(t *testing.T) {
	const fastest = 500_000 // revisions in a second: several times what any etcd makes
	now := time.Date(2026, 11, 26, 15, 0, 0, 0, time.UTC)
	fresh := now.UnixMicro() + 3_000_000_000
	for what, revision := range map[string]int64{"of a cluster of its own": 800, "restored before": fresh, "far ahead": 5 * fresh} {
		for _, between := range []time.Duration{time.Second, time.Minute, 30 * 24 * time.Hour} {
			began, later := now.Add(-time.Minute), now.Add(between)
			first := revision + restore.Bump(revision, 0, began, now)
			second := revision + restore.Bump(revision, 0, began, later)
			reached := first + fastest*int64(between/time.Second)
			if second <= reached {
				t.Errorf("%s, %s later: it begins at %d, and the first one has reached %d", what, between, second, reached)
			}
		}
	}
}

// TestBump: it begins above what clients are known to have seen, also where it is not known when the backup was begun, and never overflows.
func TestBump(t *testing.T) {
	now := time.Date(2026, 11, 26, 15, 0, 0, 0, time.UTC)
	for what, c := range map[string]struct {
		revision, seen int64
		began          time.Time
		least          int64
	}{
		"nothing known":        {revision: 5, least: now.UnixMicro()},
		"more was seen":        {revision: 5, seen: now.UnixMicro() - 7, least: now.UnixMicro() - 7 + 1_000_000_000},
		"ahead of the clock":   {revision: 2 * now.UnixMicro(), least: 2*now.UnixMicro() + 1_000_000_000},
		"begun in the future":  {revision: 5, began: now.Add(time.Hour), least: now.UnixMicro()},
		"what no etcd reaches": {revision: math.MaxInt64 - 5_000_000_000, seen: math.MaxInt64, least: 0},
	} {
		bump := restore.Bump(c.revision, c.seen, c.began, now)
		if begins := c.revision + bump; bump <= 0 || begins < c.least && begins > 0 {
			t.Errorf("%s: bump %d, begins at %d, want %d at least", what, bump, c.revision+bump, c.least)
		}
	}
}
