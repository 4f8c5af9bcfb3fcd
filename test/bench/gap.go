// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
	"github.com/etcd-operator/etcd-operator/test/load"
)

// Goals of the longest time without a write, in milliseconds.
const usualGap, longestGap = 60, 200

// A disturbance is what an application should not notice. It returns when all of it
// is over.
type disturbance struct {
	size    int32 // of the cluster, before
	disturb func(*bench, context.Context, string) error
}

// named measures the disturbance by an application that writes all the while.
func (d disturbance) named(name string) func(context.Context, *bench) ([]row, error) {
	return func(ctx context.Context, b *bench) ([]row, error) {
		var gaps, failed, tries sample
		for i := range b.n {
			beats, err := b.disturbOnce(ctx, fmt.Sprintf("%s-%d", name, i), d)
			if err != nil {
				return nil, err
			}
			b.progress("%d of %d: %s", i+1, b.n, beats)
			gaps.milliseconds(beats.Gap)
			failed.add(float64(beats.Failed))
			tries.add(float64(beats.Tries))
		}
		return []row{
			alone(name, "ms", gaps.median(), atMost(usualGap), gaps),
			alone(name+"-worst", "ms", gaps.percentile(100), atMost(longestGap), gaps),
			alone(name+"-failed", "writes", failed.percentile(100), atMost(0), failed),
			alone(name+"-tries", "tries", tries.percentile(100), nil, tries),
		}, nil
	}
}

func (b *bench) disturbOnce(ctx context.Context, name string, d disturbance) (load.Beats, error) {
	cluster := b.threeMembers(name)
	cluster.Spec.Size, cluster.Spec.Version = ptr.To(d.size), upgradeFrom
	if _, err := b.apply(ctx, cluster); err != nil {
		return load.Beats{}, err
	}
	if err := b.calm(ctx, name, int(d.size)); err != nil {
		return load.Beats{}, err
	}
	beats, err := b.pulse(ctx, name, func() error { return d.disturb(b, ctx, name) })
	if err != nil {
		return load.Beats{}, err
	}
	return beats, b.remove(ctx, name)
}

// pulse lets an application write while something happens, and a moment longer.
func (b *bench) pulse(ctx context.Context, cluster string, happens func() error) (load.Beats, error) {
	a, err := b.application(ctx, cluster)
	if err != nil {
		return load.Beats{}, err
	}
	defer a.close()
	offset, err := b.log.end()
	if err != nil {
		return load.Beats{}, err
	}
	begin := time.Now()
	p := load.StartPulse(ctx, a.etcd, "pulse")
	err = resting(ctx)
	if err == nil {
		err = happens()
	}
	if err == nil {
		err = resting(ctx)
	}
	beats := p.End()
	if b.trace {
		a.tries.print()
	}
	if err != nil {
		return load.Beats{}, err
	}
	return beats, b.printTrace(offset, begin, cluster)
}

// calm waits until a cluster is as wanted, by what it is and by what is said of it.
func (b *bench) calm(ctx context.Context, cluster string, size int) error {
	if err := b.settle(ctx, cluster); err != nil {
		return err
	}
	if _, err := b.whole(ctx, cluster, size); err != nil {
		return err
	}
	return b.settle(ctx, cluster)
}

// rollFlag changes a flag of etcd, so that every Pod is recreated.
func (b *bench) rollFlag(ctx context.Context, cluster string) error {
	err := b.edit(ctx, cluster, func(spec *v1beta1.EtcdClusterSpec) { spec.Etcd.SnapshotCount++ })
	if err != nil {
		return err
	}
	return b.calm(ctx, cluster, 3)
}

// upgradeOnce changes the version, so that every Pod gets another image in place.
func (b *bench) upgradeOnce(ctx context.Context, cluster string) error {
	err := b.edit(ctx, cluster, func(spec *v1beta1.EtcdClusterSpec) { spec.Version = upgradeTo })
	if err != nil {
		return err
	}
	return b.calm(ctx, cluster, 3)
}

func (b *bench) scaleUpAndDown(ctx context.Context, cluster string) error {
	for _, size := range []int32{3, 5, 3, 1} {
		if err := b.edit(ctx, cluster, func(spec *v1beta1.EtcdClusterSpec) { spec.Size = ptr.To(size) }); err != nil {
			return err
		}
		if err := b.calm(ctx, cluster, int(size)); err != nil {
			return err
		}
	}
	return nil
}

// drain evicts one Pod after the other, each as soon as the disruption budget lets
// it go.
func (b *bench) drain(ctx context.Context, cluster string) error {
	pods, err := b.pods(ctx, cluster)
	if err != nil {
		return err
	}
	for i := range pods {
		if err := b.evict(ctx, &pods[i]); err != nil {
			return err
		}
		if err := b.podGone(ctx, &pods[i]); err != nil {
			return err
		}
	}
	return b.calm(ctx, cluster, len(pods))
}

func (b *bench) evict(ctx context.Context, pod *corev1.Pod) error {
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}},
	}
	return poll(ctx, "eviction of "+pod.Name, 100*time.Millisecond, patience, func() (bool, error) {
		err := b.client.SubResource("eviction").Create(ctx, pod, eviction)
		if apierrors.IsTooManyRequests(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// deleteLeader deletes the leader's Pod with its usual grace period.
func (b *bench) deleteLeader(ctx context.Context, cluster string) error {
	now, err := b.whole(ctx, cluster, 3)
	if err != nil {
		return err
	}
	if err := b.client.Delete(ctx, now.leader.pod); err != nil {
		return fmt.Errorf("delete pod: %w", err)
	}
	if err := b.podGone(ctx, now.leader.pod); err != nil {
		return err
	}
	return b.calm(ctx, cluster, 3)
}
