// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import "time"

const (
	// margin is what a restored cluster begins above the highest revision that is known at the least: clients of the cluster may have seen
	// later ones. It is what etcd's documentation takes (https://etcd.io/docs/v3.6/op-guide/recovery/, "Restoring with revision bump").
	margin = 1_000_000_000
	// highestKnown is above every revision that a cluster can have in the next 100,000 years. What a damaged backup says must not overflow.
	highestKnown = 1 << 62
)

// bump is added to the revision of a backup that is restored now, so that no client sees a revision again that meant something else.
// seen is the highest revision that clients of the cluster are known to have seen; 0 if none is. began is when the backup was begun.
//
// Of two restores of one backup, into two clusters or twice into one, the later one begins higher by a million for each second between
// them, and no etcd makes as many revisions: a client that switches from one of them to the other never finds the revisions of the first.
// So the new cluster begins at the time in microseconds, which is above what etcd reaches by itself. Where a revision is higher, because
// the cluster was restored before or a clock was wrong, it begins above that, by the margin and by the time since the backup.
func bump(revision, seen int64, began, now time.Time) int64 {
	highest := min(max(revision, seen, 0), highestKnown)
	begins := highest + margin
	if !began.IsZero() {
		begins += max(0, now.Sub(began).Microseconds())
	}
	return max(begins, now.UnixMicro()) - min(max(revision, 0), highestKnown)
}
