// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// looksEach is how often a member is asked for the size of its database while a snapshot is read: often enough for one that takes
	// 100 MB a second.
	looksEach = 3 * time.Second
	// worthSaying is the growth from which on it is reported.
	worthSaying = 1 << 20
)

// growth is that of the member's database while its snapshot is read. Until all of it was sent, the member can use no page again that
// was in use when it began: so a slow store makes the database of a busy cluster grow.
type growth struct{ from, now, quota int64 } // bytes

// isTooMuch once the database has taken half of the room that was left under the quota: an upload may use free room, and
// the other half is for the writes that come until the snapshot has ended, and for the next attempt. Beyond the quota etcd refuses
// every write. A database that is over it already does not grow.
func (g growth) isTooMuch() bool {
	return g.quota > g.from && g.now-g.from >= (g.quota-g.from)/2
}

func (g growth) String() string {
	text := fmt.Sprintf("its database has grown from %s to %s meanwhile", mebibytes(g.from), mebibytes(g.now))
	if g.quota > 0 {
		text += ", of a quota of " + mebibytes(g.quota)
	}
	return text
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", (n+1<<19)>>20) }

// growthError says that a snapshot was ended for the sake of its cluster.
type growthError struct {
	member string
	growth growth
}

func (e *growthError) Error() string {
	return fmt.Sprintf("the store is too slow for the writes of the cluster: %s cannot free pages while its snapshot is read, and %s; "+
		"the backup was stopped before etcd refuses writes", e.member, e.growth)
}

// watchGrowth asks the member for its size until the context ends, and stops the upload when it has grown too much.
func (j job) watchGrowth(ctx context.Context, s source, stop context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(looksEach):
		}
		now, err := sizeOf(ctx, s.client)
		if err != nil {
			continue // another look is soon
		}
		g := growth{from: s.status.DBSize, now: now, quota: j.Backup.Quota}
		if g.isTooMuch() {
			stop(&growthError{s.member.Name, g})
			return
		}
		if g.now-g.from >= worthSaying {
			j.say.note(g.String())
		}
	}
}

func sizeOf(ctx context.Context, client etcd.Client) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	status, err := client.Status(ctx)
	return status.DBSize, err
}
