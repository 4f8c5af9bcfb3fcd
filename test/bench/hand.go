// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

// What a script does by hand that knows beforehand what is to be done.

// joinFloor adds a learner, starts its Pod with an empty volume, and makes it a voter
// as soon as etcd lets it. Listed are the names of all others.
func (b *bench) joinFloor(ctx context.Context, f floor, leader etcd.Client, name string, listed []string) error {
	all := append(slices.Clone(listed), name)
	claim, err := f.renderIn("existing", all, "claim.yaml", name)
	if err != nil {
		return err
	}
	pod, err := f.renderIn("existing", all, "pod.yaml", name)
	if err != nil {
		return err
	}
	var learner etcd.Member
	err = untilReady(ctx, "etcd to take "+name, func(ctx context.Context) error {
		var err error
		learner, err = leader.AddLearner(ctx, fmt.Sprintf("https://%s.%s.%s.svc:2380", name, f.Name, f.Namespace))
		return err
	})
	if err != nil {
		return err
	}
	if err := b.makeAgain(ctx, append(claim, pod...)); err != nil {
		return err
	}
	return untilReady(ctx, name+" to catch up", func(ctx context.Context) error { return leader.Promote(ctx, learner.ID) })
}

// untilReady repeats what etcd refuses for now.
func untilReady(ctx context.Context, what string, ask func(context.Context) error) error {
	return poll(ctx, what, blink, patience, func() (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, changeTimeout)
		defer cancel()
		err := ask(ctx)
		if errors.Is(err, etcd.ErrNotReady) {
			return false, nil
		}
		return err == nil, err
	})
}

// changeTimeout is longer than etcd's own limit for a request.
const changeTimeout = 10 * time.Second

// leaveFloor removes members one after the other, as soon as etcd lets it, which wants
// connections that are five seconds old, and deletes the Pod of each.
func (b *bench) leaveFloor(ctx context.Context, leader seat, leaving []seat) error {
	for _, s := range leaving {
		err := untilReady(ctx, "etcd to remove "+s.pod.Name, func(ctx context.Context) error {
			return leader.member.Remove(ctx, s.status.MemberID)
		})
		if err != nil {
			return err
		}
		if err := b.client.Delete(ctx, s.pod); err != nil {
			return fmt.Errorf("delete pod: %w", err)
		}
	}
	return nil
}

// moveLeader hands leadership over, and waits until all follow.
func (b *bench) moveLeader(ctx context.Context, now standing, to seat) (standing, error) {
	if err := now.leader.member.MoveLeader(ctx, to.status.MemberID); err != nil {
		return standing{}, fmt.Errorf("move leadership to %s: %w", to.pod.Name, err)
	}
	return b.serving(ctx, to.pod.Labels[instanceLabel], len(now.followers)+1)
}

// swapImage gives a running Pod another image, and waits until it serves with it.
func (b *bench) swapImage(ctx context.Context, s seat, image string) error {
	before := client.MergeFrom(s.pod.DeepCopy())
	old := containerOf(s.pod)
	s.pod.Spec.Containers[0].Image = image
	if err := b.client.Patch(ctx, s.pod, before); err != nil {
		return fmt.Errorf("patch the image: %w", err)
	}
	return poll(ctx, s.pod.Name+" to serve with "+image, blink, patience, func() (bool, error) {
		pod, err := b.pod(ctx, s.pod.Name)
		return pod != nil && containerOf(pod) != old && isReady(pod), err
	})
}

// containerOf names the container that runs, or that ran last.
func containerOf(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		return status.ContainerID
	}
	return ""
}

// atOnce does the same to all at the same time, and returns every error.
func atOnce[T any](all []T, do func(T) error) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, one := range all {
		group.Go(func() { errs[i] = do(one) })
	}
	group.Wait()
	return errors.Join(errs...)
}
