// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// restart times a Pod that is deleted and comes back with its data: in a cluster
// of the operator, and in the floor, where the bench makes the Pod again the
// moment it is gone.
func restart(ctx context.Context, b *bench) ([]row, error) {
	ours, f := b.threeMembers("restart"), b.floor("restart-floor")
	return b.both(ctx, ours, f, func() ([]row, error) {
		measured, floors, err := b.inTurns(1,
			func(int) (lap, error) { return b.restartOurs(ctx, ours.Name) },
			func(int) (lap, error) { return b.restartFloor(ctx, f) })
		if err != nil {
			return nil, err
		}
		return []row{ratio("restart", measured[0], floors[0], 1.3)}, nil
	})
}

func (b *bench) restartOurs(ctx context.Context, cluster string) (lap, error) {
	pod, err := b.settledFollower(ctx, cluster)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := b.client.Delete(ctx, pod); err != nil {
		return nil, fmt.Errorf("delete pod: %w", err)
	}
	err = b.answer(ctx, cluster, 3, pod.UID)
	return lap{time.Since(begin)}, err
}

// settledFollower waits for the operator to have nothing left to do, and rests.
func (b *bench) settledFollower(ctx context.Context, cluster string) (*corev1.Pod, error) {
	if err := b.settle(ctx, cluster); err != nil {
		return nil, err
	}
	if err := resting(ctx); err != nil {
		return nil, err
	}
	return b.follower(ctx, cluster)
}

func (b *bench) restartFloor(ctx context.Context, f floor) (lap, error) {
	if err := resting(ctx); err != nil {
		return nil, err
	}
	pod, err := b.follower(ctx, f.Name)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := b.client.Delete(ctx, pod); err != nil {
		return nil, fmt.Errorf("delete pod: %w", err)
	}
	if err := b.podGone(ctx, pod); err != nil {
		return nil, err
	}
	if err := b.startFloor(ctx, f, pod.Name); err != nil {
		return nil, err
	}
	err = b.answer(ctx, f.Name, 3, pod.UID)
	return lap{time.Since(begin)}, err
}

// podGone looks often: the floor must not pay for how the bench looks.
func (b *bench) podGone(ctx context.Context, gone *corev1.Pod) error {
	return poll(ctx, gone.Name+" to be gone", time.Millisecond, patience, func() (bool, error) {
		pod, err := b.pod(ctx, gone.Name)
		return pod == nil || pod.UID != gone.UID, err
	})
}

func (b *bench) makeAgain(ctx context.Context, pods []*unstructured.Unstructured) error {
	for _, pod := range pods {
		if err := b.client.Create(ctx, pod); err != nil {
			return fmt.Errorf("create pod again: %w", err)
		}
	}
	return nil
}

// detect times how soon the operator acts: from the end of the request by which the kubelet
// says that a Pod has ended, or takes it away, until the API server receives the new Pod.
func detect(ctx context.Context, b *bench) ([]row, error) {
	const cluster = "detect"
	if _, err := b.apply(ctx, b.threeMembers(cluster)); err != nil {
		return nil, err
	}
	var measured sample
	for i := range 2 * b.n {
		took, err := b.detectOnce(ctx, cluster)
		if err != nil {
			return nil, err
		}
		b.progress("%d of %d: %.1f ms", i+1, 2*b.n, float64(took.Microseconds())/1000)
		measured.milliseconds(took)
	}
	return []row{
		alone("detection-p99", "ms", measured.percentile(99), atMost(100), measured),
		alone("detection-median", "ms", measured.median(), nil, measured),
	}, b.remove(ctx, cluster)
}

func (b *bench) detectOnce(ctx context.Context, cluster string) (time.Duration, error) {
	pod, err := b.settledFollower(ctx, cluster)
	if err != nil {
		return 0, err
	}
	offset, err := b.log.end()
	if err != nil {
		return 0, err
	}
	if err := b.client.Delete(ctx, pod); err != nil {
		return 0, fmt.Errorf("delete pod: %w", err)
	}
	if err := b.answer(ctx, cluster, 3, pod.UID); err != nil {
		return 0, err
	}
	made, err := b.log.find(ctx, offset, "a new pod by the operator", func(r request) bool {
		made := r.Verb == "create" && r.isOn("pods") && r.Object.Namespace == pod.Namespace && b.operator.made(r)
		return made && r.Stage == answered && r.succeeded()
	})
	if err != nil {
		return 0, err
	}
	all, err := b.log.since(offset)
	if err != nil {
		return 0, err
	}
	said, told := b.lastWord(all, pod)
	if !told {
		return 0, fmt.Errorf("the audit log does not show what the kubelet said of pod %s before it was recreated", pod.Name)
	}
	return made.Received.Sub(said), nil
}

// lastWord is when the kubelet had last said something of a Pod before the operator did
// anything about it: that its containers have ended, or that it is gone.
func (b *bench) lastWord(all []request, pod *corev1.Pod) (at time.Time, told bool) {
	for _, r := range all {
		if r.Stage != answered || !r.succeeded() || !r.isWrite() || r.Object.Resource != "pods" || r.Object.Namespace != pod.Namespace {
			continue
		}
		if b.operator.made(r) {
			return at, told
		}
		if r.User.Username == "system:node:"+pod.Spec.NodeName && r.Object.Name == pod.Name {
			at, told = r.StagedAt, true
		}
	}
	return at, told
}
