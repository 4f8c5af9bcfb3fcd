// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// scale times two members that join, and two that leave again.
func scale(ctx context.Context, b *bench) ([]row, error) {
	ours, f := b.threeMembers("scale"), b.floor("scale-floor")
	return b.both(ctx, ours, f, func() ([]row, error) {
		measured, floors, err := b.inTurns(2,
			func(int) (lap, error) { return b.scaleOurs(ctx, ours.Name) },
			func(i int) (lap, error) { return b.scaleFloor(ctx, f, 3+2*i) })
		if err != nil {
			return nil, err
		}
		return []row{
			ratio("scale-up", measured[0], floors[0], 1.2),
			ratio("scale-down", measured[1], floors[1], 1.2),
		}, nil
	})
}

func (b *bench) scaleOurs(ctx context.Context, cluster string) (lap, error) {
	var took lap
	for _, size := range []int32{5, 3} {
		if err := b.rested(ctx, cluster, int(8-size)); err != nil {
			return nil, err
		}
		begin := time.Now()
		if err := b.edit(ctx, cluster, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To(size) }); err != nil {
			return nil, err
		}
		if _, err := b.serving(ctx, cluster, int(size)); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
	}
	return took, nil
}

// scaleFloor takes the next two names for those that join.
func (b *bench) scaleFloor(ctx context.Context, f floor, serial int) (lap, error) {
	up, err := b.growFloor(ctx, f, memberNames(f.Name, serial+2)[serial:])
	if err != nil {
		return nil, err
	}
	down, err := b.shrinkFloor(ctx, f)
	return lap{up, down}, err
}

func (b *bench) growFloor(ctx context.Context, f floor, names []string) (time.Duration, error) {
	now, err := b.restedFloor(ctx, f, 3)
	if err != nil {
		return 0, err
	}
	listed := slices.Clone(f.Members)
	begin := time.Now()
	for _, name := range names {
		if err := b.joinFloor(ctx, f, now.leader.member, name, listed); err != nil {
			return 0, err
		}
		listed = append(listed, name)
	}
	_, err = b.serving(ctx, f.Name, 5)
	return time.Since(begin), err
}

// shrinkFloor takes the two newest away, of which neither may lead.
func (b *bench) shrinkFloor(ctx context.Context, f floor) (time.Duration, error) {
	now, err := b.restedFloor(ctx, f, 5)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if !slices.Contains(f.Members, now.leader.pod.Name) {
		if now, err = b.moveLeader(ctx, now, now.followers[0]); err != nil {
			return 0, err
		}
	}
	if err := b.leaveFloor(ctx, now.leader, now.followers[2:]); err != nil {
		return 0, err
	}
	_, err = b.serving(ctx, f.Name, 3)
	return time.Since(begin), err
}

// rested is calm, and a pause in which what was done before ends.
func (b *bench) rested(ctx context.Context, cluster string, size int) error {
	if err := b.calm(ctx, cluster, size); err != nil {
		return err
	}
	return resting(ctx)
}

func (b *bench) restedFloor(ctx context.Context, f floor, size int) (standing, error) {
	if _, err := b.whole(ctx, f.Name, size); err != nil {
		return standing{}, err
	}
	if err := resting(ctx); err != nil {
		return standing{}, err
	}
	return b.whole(ctx, f.Name, size)
}
