// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"
)

// noticing is how long it may take to see that data is damaged for good, in seconds,
// beside what it takes to copy it from another member.
const noticing = 60

// corrupt times a member whose database is damaged and which is killed: until another
// one votes and serves in its place. The floor is told, and replaces it by hand.
func corrupt(ctx context.Context, b *bench) ([]row, error) {
	ours, f := b.threeMembers("corrupt"), b.floor("corrupt-floor")
	return b.both(ctx, ours, f, func() ([]row, error) {
		for _, cluster := range []string{ours.Name, f.Name} {
			if err := b.fill(ctx, cluster, 100); err != nil {
				return nil, err
			}
		}
		measured, floors, err := b.inTurns(1,
			func(int) (lap, error) { return b.corruptOurs(ctx, ours.Name) },
			func(i int) (lap, error) { return b.replaceFloor(ctx, f, successor(f, i)) })
		if err != nil {
			return nil, err
		}
		r := beside("corrupt", "s", measured[0].median(), floors[0].median(), atMost(noticing+floors[0].median()), measured[0], floors[0])
		r.Ratio = nil // the goal is a time
		return []row{r}, nil
	})
}

func (b *bench) corruptOurs(ctx context.Context, cluster string) (lap, error) {
	if err := b.rested(ctx, cluster, 3); err != nil {
		return nil, err
	}
	pod, err := b.follower(ctx, cluster)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := damage(string(pod.UID)); err != nil {
		return nil, err
	}
	_, err = b.wholeOf(ctx, cluster, 3, func(s seat) bool { return s.pod.UID != pod.UID })
	return lap{time.Since(begin)}, err
}
