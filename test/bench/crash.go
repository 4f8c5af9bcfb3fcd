// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// crash compares how long nobody can write after the leader was killed: with the
// operator, and with nobody who could make it worse.
func crash(ctx context.Context, b *bench) ([]row, error) {
	const ours = "gap-kill"
	f := b.floor("gap-kill-floor")
	return b.both(ctx, b.threeMembers(ours), f, func() ([]row, error) {
		measured, floors, err := b.inTurns(1,
			func(int) (lap, error) { return b.crashOnce(ctx, ours, b.renewOurs) },
			func(int) (lap, error) {
				return b.crashOnce(ctx, f.Name, func(ctx context.Context, victim seat) error { return b.renewFloor(ctx, f, victim) })
			})
		if err != nil {
			return nil, err
		}
		return []row{ratio("gap-kill", measured[0], floors[0], 1.05)}, nil
	})
}

// crashOnce kills the leader, and afterwards recreates its Pod: the kubelet waits
// longer before each restart of one and the same.
func (b *bench) crashOnce(ctx context.Context, cluster string, renew func(context.Context, seat) error) (lap, error) {
	now, err := b.whole(ctx, cluster, 3)
	if err != nil {
		return nil, err
	}
	beats, err := b.pulse(ctx, cluster, func() error {
		if err := kill(string(now.leader.pod.UID)); err != nil {
			return err
		}
		if err := b.restarted(ctx, now.leader.pod.Name, now.leader.pod.UID); err != nil {
			return err
		}
		_, err := b.whole(ctx, cluster, 3)
		return err
	})
	if err != nil {
		return nil, err
	}
	return lap{beats.Gap}, renew(ctx, now.leader)
}

// restarted waits until the kubelet has seen the end of a Pod's first container.
func (b *bench) restarted(ctx context.Context, name string, uid types.UID) error {
	return poll(ctx, name+" to restart", blink, patience, func() (bool, error) {
		pod, err := b.pod(ctx, name)
		if err != nil || pod == nil || pod.UID != uid {
			return false, err
		}
		return len(pod.Status.ContainerStatuses) > 0 && pod.Status.ContainerStatuses[0].RestartCount > 0, nil
	})
}

func (b *bench) renewOurs(ctx context.Context, victim seat) error {
	if err := b.client.Delete(ctx, victim.pod); err != nil {
		return fmt.Errorf("delete pod: %w", err)
	}
	return b.podGone(ctx, victim.pod)
}

func (b *bench) renewFloor(ctx context.Context, f floor, victim seat) error {
	if err := b.renewOurs(ctx, victim); err != nil {
		return err
	}
	return b.startFloor(ctx, f, victim.pod.Name)
}
