// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operatorNamespace is where the operator is deployed, and its lease is.
const operatorNamespace = "etcd-operator-system"

var leaseKey = client.ObjectKey{Namespace: operatorNamespace, Name: "etcd-operator.dev"}

// Goals in seconds: without the leader as planned, and beyond the time of the lease when
// it was killed.
const plannedGoal, killedGoal = 1, 1

// takeoverPlanned deletes the leader's Pod, which gives the lease away.
func takeoverPlanned(ctx context.Context, b *bench) ([]row, error) {
	all, given := sample{}, sample{}
	for i := range b.n {
		took, _, err := b.takeover(ctx, func(leader *corev1.Pod) error { return b.client.Delete(ctx, leader) })
		if err != nil {
			return nil, err
		}
		b.progress("%d of %d: %s since the deletion, %s since the lease was given away", i+1, b.n, took.whole(), took.vacancy())
		all.seconds(took.whole())
		given.seconds(took.vacancy())
	}
	return []row{
		alone("takeover-planned", "s", all.percentile(100), atMost(plannedGoal), all),
		alone("takeover-planned-vacant", "s", given.percentile(100), nil, given),
	}, nil
}

// takeoverKill kills the leader without a word. Its Pod is deleted afterwards: the kubelet
// waits longer before each restart of one and the same.
func takeoverKill(ctx context.Context, b *bench) ([]row, error) {
	all, lasts := sample{}, 0.0
	for i := range b.n {
		var victim *corev1.Pod
		took, lease, err := b.takeover(ctx, func(leader *corev1.Pod) error {
			victim = leader
			pid, err := processNamed(string(leader.UID), "etcd-operator")
			if err != nil {
				return err
			}
			return send(pid, syscall.SIGKILL)
		})
		if err != nil {
			return nil, err
		}
		if err := b.client.Delete(ctx, victim); err != nil {
			return nil, fmt.Errorf("delete the killed pod: %w", err)
		}
		b.progress("%d of %d: %s since it was killed", i+1, b.n, took.whole())
		all.seconds(took.whole())
		lasts = float64(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0))
	}
	return []row{alone("takeover-kill", "s", all.percentile(100), atMost(lasts+killedGoal), all)}, nil
}

// takeover ends the leader in some way and waits for the next one. It also returns the
// lease as it was before.
func (b *bench) takeover(ctx context.Context, end func(leader *corev1.Pod) error) (*handover, *coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	leader, lease, err := b.standingBy(ctx)
	if err != nil {
		return nil, nil, err
	}
	watcher, err := b.client.Watch(ctx, &coordinationv1.LeaseList{},
		client.InNamespace(leaseKey.Namespace), client.MatchingFields{"metadata.name": leaseKey.Name})
	if err != nil {
		return nil, nil, fmt.Errorf("watch the lease: %w", err)
	}
	defer watcher.Stop()
	h := &handover{old: *lease.Spec.HolderIdentity, begun: time.Now()}
	if err := end(leader); err != nil {
		return nil, nil, fmt.Errorf("end the leader: %w", err)
	}
	return h, lease, h.follow(ctx, watcher.ResultChan())
}

// standingBy waits until one replica leads and all others stand by.
func (b *bench) standingBy(ctx context.Context) (*corev1.Pod, *coordinationv1.Lease, error) {
	var leader *corev1.Pod
	var lease coordinationv1.Lease
	err := poll(ctx, "a leader and a standby", rest, patience, func() (bool, error) {
		var pods corev1.PodList
		err := b.client.List(ctx, &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})
		if err != nil {
			return false, fmt.Errorf("list the operator's pods: %w", err)
		}
		if err := b.client.Get(ctx, leaseKey, &lease); err != nil {
			return false, fmt.Errorf("get the lease: %w", err)
		}
		leader = leaderOf(pods.Items, ptr.Deref(lease.Spec.HolderIdentity, ""))
		return leader != nil, nil
	})
	if err != nil {
		return nil, nil, err
	}
	return leader, &lease, resting(ctx)
}

// leaderOf is the Pod that holds the lease, if it and at least one more are ready and none
// is about to come or go.
func leaderOf(pods []corev1.Pod, holder string) *corev1.Pod {
	settled := !slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil || !isReady(&p) })
	name, _, _ := strings.Cut(holder, "_")
	i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name == name })
	if !settled || len(pods) < 2 || i < 0 {
		return nil
	}
	return &pods[i]
}

// A handover is how the lease passes from one process to another. The container of a
// leader that was killed starts again in the same Pod, and is another.
type handover struct {
	old                 string
	begun, given, taken time.Time
}

var errNoWord = errors.New("the watch of the lease has ended")

// follow watches until another process holds the lease.
func (h *handover) follow(ctx context.Context, events <-chan watch.Event) error {
	for h.taken.IsZero() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the next leader: %w", ctx.Err())
		case event, open := <-events:
			if !open {
				return errNoWord
			}
			if lease, is := event.Object.(*coordinationv1.Lease); is {
				h.see(ptr.Deref(lease.Spec.HolderIdentity, ""), time.Now())
			}
		}
	}
	return nil
}

// see notes who held the lease at a time; nobody if it is empty.
func (h *handover) see(holder string, at time.Time) {
	switch {
	case holder == h.old:
	case holder == "" && h.given.IsZero():
		h.given = at
	case holder != "" && h.taken.IsZero():
		h.taken = at
	}
}

// whole is how long it took since the old leader was ended.
func (h *handover) whole() time.Duration { return h.taken.Sub(h.begun).Round(time.Millisecond) }

// vacancy is how long nobody held the lease: no time if it was not given away.
func (h *handover) vacancy() time.Duration {
	if h.given.IsZero() {
		return 0
	}
	return h.taken.Sub(h.given).Round(time.Millisecond)
}
