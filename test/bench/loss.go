// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/etcd-operator/etcd-operator/test/load"
)

// lossClients are so many that some are connected to the member that is lost.
const lossClients = 6

// lossOfVolume measures how long the slowest of several clients stands still when a follower's
// volume and Pod are deleted and another member takes its place: with the operator, and by
// hand. What both have in common is etcd's, the client's and the network's.
func lossOfVolume(ctx context.Context, b *bench) ([]row, error) {
	ours, f := b.threeMembers("gap-loss"), b.floor("gap-loss-floor")
	return b.both(ctx, ours, f, func() ([]row, error) {
		measured, floors, err := b.inTurns(1,
			func(int) (lap, error) {
				return b.slowest(ctx, ours.Name, func() error {
					_, err := b.replaceOurs(ctx, ours.Name)
					return err
				})
			},
			func(i int) (lap, error) {
				return b.slowest(ctx, f.Name, func() error {
					_, err := b.replaceFloor(ctx, f, successor(f, i))
					return err
				})
			})
		if err != nil {
			return nil, err
		}
		worst, floor := measured[0].percentile(100), floors[0].percentile(100)
		return []row{beside("gap-loss-worst", "s", worst, floor, nil, measured[0], floors[0])}, nil
	})
}

// slowest is the longest time in which one of several clients, each with a connection of its
// own through the Service, has written nothing while something happens.
func (b *bench) slowest(ctx context.Context, cluster string, happens func() error) (lap, error) {
	pulses := make([]*load.Pulse, 0, lossClients)
	for i := range lossClients {
		a, err := b.application(ctx, cluster)
		if err != nil {
			return nil, err
		}
		defer a.close()
		pulses = append(pulses, load.StartPulse(ctx, a.etcd, "pulse-"+string(rune('a'+i))))
	}
	err := happens()
	var gap time.Duration
	for _, p := range pulses {
		gap = max(gap, p.End().Gap)
	}
	return lap{gap}, err
}
