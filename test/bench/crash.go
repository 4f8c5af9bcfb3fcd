package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// crash compares how long nobody can write after the leader was killed: with the
// operator, and with nobody who could make it worse.
func crash(ctx context.Context, b *bench) ([]row, error) {
	const ours = "gap-kill"
	f := b.floor("gap-kill-floor")
	if _, err := b.apply(ctx, b.threeMembers(ours)); err != nil {
		return nil, err
	}
	if _, err := b.applyFloor(ctx, f, b.pause); err != nil {
		return nil, err
	}
	var measured, hand sample
	for i := range b.n {
		gap, err := b.crashOnce(ctx, ours, b.renewOurs)
		if err != nil {
			return nil, err
		}
		floored, err := b.crashOnce(ctx, f.Name, func(ctx context.Context, victim seat) error { return b.renewFloor(ctx, f, victim) })
		if err != nil {
			return nil, err
		}
		b.progress("%d of %d: operator %.2f s, floor %.2f s", i+1, b.n, gap.Seconds(), floored.Seconds())
		measured.milliseconds(gap)
		hand.milliseconds(floored)
	}
	if err := b.remove(ctx, ours); err != nil {
		return nil, err
	}
	if err := b.removeFloor(ctx, f); err != nil {
		return nil, err
	}
	return []row{beside("gap-kill", "ms", measured.median(), hand.median(), atMost(1.05), measured, hand)}, nil
}

// crashOnce kills the leader, and afterwards makes its Pod anew: the kubelet waits
// longer before each restart of one and the same.
func (b *bench) crashOnce(ctx context.Context, cluster string, renew func(context.Context, seat) error) (time.Duration, error) {
	now, err := b.whole(ctx, cluster, 3)
	if err != nil {
		return 0, err
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
		return 0, err
	}
	return beats.Gap, renew(ctx, now.leader)
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
	again, err := f.render("pod.yaml", victim.pod.Name)
	if err != nil {
		return err
	}
	if err := b.renewOurs(ctx, victim); err != nil {
		return err
	}
	return b.makeAgain(ctx, again)
}
