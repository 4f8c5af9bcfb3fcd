// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// allKilled times a cluster of which every Pod is deleted at once and without grace,
// until it serves again with the data that it had, and until all members do.
func allKilled(ctx context.Context, b *bench) ([]row, error) {
	ours, f := b.threeMembers("allkilled"), b.floor("allkilled-floor")
	return b.both(ctx, ours, f, func() ([]row, error) {
		measured, floors, err := b.inTurns(2,
			func(int) (lap, error) {
				if err := b.rested(ctx, ours.Name, 3); err != nil {
					return nil, err
				}
				return b.killAll(ctx, ours.Name, func(string) error { return nil })
			},
			func(int) (lap, error) {
				if _, err := b.restedFloor(ctx, f, 3); err != nil {
					return nil, err
				}
				return b.killAll(ctx, f.Name, func(member string) error { return b.startFloor(ctx, f, member) })
			})
		if err != nil {
			return nil, err
		}
		return []row{
			ratio("allkilled", measured[0], floors[0], 1.3),
			ratio("allkilled-whole", measured[1], floors[1], 1.3),
		}, nil
	})
}

// killAll deletes every Pod, lets somebody start each again, and waits until they
// serve. Without grace, a Pod is gone for the API server at once.
func (b *bench) killAll(ctx context.Context, cluster string, start func(member string) error) (lap, error) {
	pods, err := b.pods(ctx, cluster)
	if err != nil {
		return nil, err
	}
	gone := map[types.UID]bool{}
	for _, pod := range pods {
		gone[pod.UID] = true
	}
	begin := time.Now()
	err = atOnce(pods, func(pod corev1.Pod) error {
		if err := b.client.Delete(ctx, &pod, client.GracePeriodSeconds(0)); err != nil {
			return fmt.Errorf("kill pod: %w", err)
		}
		return start(pod.Name)
	})
	if err != nil {
		return nil, err
	}
	isNew := func(s seat) bool { return !gone[s.pod.UID] }
	if err := b.anyOf(ctx, cluster, len(pods), isNew); err != nil {
		return nil, err
	}
	first := time.Since(begin)
	_, err = b.wholeOf(ctx, cluster, len(pods), isNew)
	return lap{first, time.Since(begin)}, err
}

// anyOf waits until one of the Pods has answered a linearizable read, for which it needs a
// leader and a quorum.
func (b *bench) anyOf(ctx context.Context, cluster string, size int, of func(seat) bool) error {
	return poll(ctx, "a member of "+cluster, blink, patience, func() (bool, error) {
		pods, err := b.pods(ctx, cluster)
		if err != nil {
			return false, err
		}
		found := make(chan bool, len(pods))
		err = atOnce(pods, func(pod corev1.Pod) error {
			s, ok, err := b.sit(ctx, cluster, &pod, size)
			found <- ok && of(s)
			return err
		})
		close(found)
		for ok := range found {
			if ok {
				return true, nil
			}
		}
		return false, err
	})
}

// startFloor makes the Pod of a first member again, which finds its volume.
func (b *bench) startFloor(ctx context.Context, f floor, member string) error {
	pod, err := f.render("pod.yaml", member)
	if err != nil {
		return err
	}
	return b.makeAgain(ctx, pod)
}
