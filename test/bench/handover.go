// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "context"

// handOver measures what clients notice of a leader that moves and of nothing else: three
// members without an operator, asked by hand. It is what is left of any change when all
// else is done well, and has no goal.
func handOver(ctx context.Context, b *bench) ([]row, error) {
	const name = "gap-handover"
	f := b.floor(name)
	if _, err := b.applyFloor(ctx, f, b.pause); err != nil {
		return nil, err
	}
	var gaps, tries sample
	for i := range b.n {
		now, err := b.whole(ctx, f.Name, len(f.Members))
		if err != nil {
			return nil, err
		}
		beats, err := b.pulse(ctx, f.Name, func() error {
			_, err := b.moveLeader(ctx, now, now.followers[i%len(now.followers)])
			return err
		})
		if err != nil {
			return nil, err
		}
		b.progress("%d of %d: %s", i+1, b.n, beats)
		gaps.milliseconds(beats.Gap)
		tries.add(float64(beats.Tries))
	}
	return []row{
		alone(name, "ms", gaps.median(), nil, gaps),
		alone(name+"-worst", "ms", gaps.percentile(100), nil, gaps),
		alone(name+"-tries", "tries", tries.percentile(100), nil, tries),
	}, b.removeFloor(ctx, f)
}
