// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// create times a new cluster beside the floor.
func create(ctx context.Context, b *bench) ([]row, error) {
	measured, floors, err := b.inTurns(1,
		func(i int) (lap, error) { return b.createOnce(ctx, fmt.Sprintf("create-%d", i)) },
		func(i int) (lap, error) { return b.floorOnce(ctx, fmt.Sprintf("floor-%d", i), b.pause) })
	if err != nil {
		return nil, err
	}
	return []row{
		ratio("create", measured[0], floors[0], 1.5),
		alone("create-absolute", "s", measured[0].median(), atMost(5), measured[0]),
	}, nil
}

// createAuth times a new cluster that lets in nobody but its users, beside the floor, which lets everybody in: until authentication is
// enabled and nothing is left to do.
func createAuth(ctx context.Context, b *bench) ([]row, error) {
	measured, floors, err := b.inTurns(1,
		func(i int) (lap, error) { return b.createAuthOnce(ctx, fmt.Sprintf("auth-%d", i)) },
		func(i int) (lap, error) { return b.floorOnce(ctx, fmt.Sprintf("floor-%d", i), b.pause) })
	if err != nil {
		return nil, err
	}
	return []row{ratio("create-auth", measured[0], floors[0], 1.5)}, nil
}

func (b *bench) createAuthOnce(ctx context.Context, name string) (lap, error) {
	c := b.threeMembers(name)
	c.Spec.Auth.Enabled = true
	begin := time.Now()
	if err := b.client.Create(ctx, c); err != nil {
		return nil, fmt.Errorf("create EtcdCluster: %w", err)
	}
	if err := b.condition(ctx, name, v1beta1.ConditionAuthEnabled, metav1.ConditionTrue); err != nil {
		return nil, err
	}
	if err := b.settle(ctx, name); err != nil {
		return nil, err
	}
	return lap{time.Since(begin)}, b.remove(ctx, name)
}

func (b *bench) createOnce(ctx context.Context, name string) (lap, error) {
	offset, err := b.log.end()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	took, err := b.apply(ctx, b.threeMembers(name))
	if err != nil {
		return nil, err
	}
	if err := b.settle(ctx, name); err != nil {
		return nil, err
	}
	if err := b.printTrace(offset, begin, name); err != nil {
		return nil, err
	}
	return lap{took}, b.remove(ctx, name)
}

func (b *bench) floorOnce(ctx context.Context, name string, gap time.Duration) (lap, error) {
	offset, err := b.log.end()
	if err != nil {
		return nil, err
	}
	f := b.floor(name)
	begin := time.Now()
	took, err := b.applyFloor(ctx, f, gap)
	if err != nil {
		return nil, err
	}
	if err := b.printTrace(offset, begin, name); err != nil {
		return nil, err
	}
	return lap{took}, b.removeFloor(ctx, f)
}

// pauses times the floor with different pauses between its Pods.
func pauses(ctx context.Context, b *bench) ([]row, error) {
	lengths := []time.Duration{0, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond}
	samples := make([]sample, len(lengths))
	for i := range b.n {
		for p, pause := range lengths {
			took, err := b.floorOnce(ctx, fmt.Sprintf("pause-%d-%d", p, i), pause)
			if err != nil {
				return nil, err
			}
			b.progress("%d of %d: pods %s apart %s", i+1, b.n, pause, took)
			samples[p].seconds(took[0])
		}
	}
	var rows []row
	for p, pause := range lengths {
		rows = append(rows, alone("floor-pause-"+pause.String(), "s", samples[p].median(), nil, samples[p]))
	}
	return rows, nil
}

// writes counts what the operator writes to make a cluster, and what there must
// be at the end.
func writes(ctx context.Context, b *bench) ([]row, error) {
	var without, with, objects sample
	for i := range min(b.n, 3) {
		name := fmt.Sprintf("writes-%d", i)
		offset, err := b.log.end()
		if err != nil {
			return nil, err
		}
		if _, err := b.apply(ctx, b.threeMembers(name)); err != nil {
			return nil, err
		}
		if err := b.settle(ctx, name); err != nil {
			return nil, err
		}
		if err := sleep(ctx, 3*rest); err != nil { // events are written late
			return nil, err
		}
		all, err := b.log.since(offset)
		if err != nil {
			return nil, err
		}
		count, events := b.countWrites(all)
		exist, err := b.countObjects(ctx, name)
		if err != nil {
			return nil, err
		}
		b.progress("%d: %d writes and %d events for %d objects", i+1, count, events, exist)
		without.add(float64(count))
		with.add(float64(count + events))
		objects.add(float64(exist))
		if err := b.remove(ctx, name); err != nil {
			return nil, err
		}
	}
	return []row{
		alone("writes-per-create", "requests", without.median(), atMost(objects.median()+3), without),
		alone("writes-per-create-with-events", "requests", with.median(), nil, with),
	}, nil
}

func (b *bench) countWrites(all []request) (writes, events int) {
	for _, r := range all {
		switch {
		case r.Stage != answered || !r.isWrite() || !b.operator.made(r) || r.Object.Namespace != b.namespace:
		case r.Object.Resource == "events":
			events++
		case r.Object.Resource != "leases":
			writes++
		}
	}
	return writes, events
}

// countObjects counts what must exist for the cluster, by its label.
func (b *bench) countObjects(ctx context.Context, cluster string) (int, error) {
	count := 0
	for _, list := range []client.ObjectList{
		&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}, &corev1.ServiceList{}, &corev1.SecretList{},
		&policyv1.PodDisruptionBudgetList{}, &networkingv1.NetworkPolicyList{},
	} {
		if err := b.client.List(ctx, list, client.InNamespace(b.namespace), client.MatchingLabels{v1beta1.LabelCluster: cluster}); err != nil {
			return 0, fmt.Errorf("list: %w", err)
		}
		count += meta.LenList(list)
	}
	return count, nil
}

// printTrace prints who wrote what, in milliseconds after the beginning.
func (b *bench) printTrace(offset int64, begin time.Time, name string) error {
	if !b.trace {
		return nil
	}
	all, err := b.log.since(offset)
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Stage == answered && r.isWrite() && r.Object.Namespace == b.namespace && r.Object.Resource != "events" {
			fmt.Printf("      %6d %5d  %s\n", r.Received.Sub(begin).Milliseconds(), r.StagedAt.Sub(r.Received).Milliseconds(), r)
		}
	}
	b.progress("that was %s", name)
	return nil
}
