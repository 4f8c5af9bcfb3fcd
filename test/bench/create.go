package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// create times a new cluster beside the floor, in turns.
func create(ctx context.Context, b *bench) ([]row, error) {
	var measured, hand sample
	for i := range b.n + 1 {
		made, err := b.createOnce(ctx, fmt.Sprintf("create-%d", i))
		if err != nil {
			return nil, err
		}
		floored, err := b.floorOnce(ctx, fmt.Sprintf("floor-%d", i), b.pause)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			b.progress("warm-up: operator %.2f s, floor %.2f s", made.Seconds(), floored.Seconds())
			continue
		}
		b.progress("%d of %d: operator %.2f s, floor %.2f s", i, b.n, made.Seconds(), floored.Seconds())
		measured.seconds(made)
		hand.seconds(floored)
	}
	return []row{
		beside("create", "s", measured.median(), hand.median(), atMost(1.5), measured, hand),
		alone("create-absolute", "s", measured.median(), atMost(5), measured),
	}, nil
}

func (b *bench) createOnce(ctx context.Context, name string) (time.Duration, error) {
	offset, err := b.log.end()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	took, err := b.apply(ctx, b.threeMembers(name))
	if err != nil {
		return 0, err
	}
	if err := b.settle(ctx, name); err != nil {
		return 0, err
	}
	if err := b.printTrace(offset, begin, name); err != nil {
		return 0, err
	}
	return took, b.remove(ctx, name)
}

func (b *bench) floorOnce(ctx context.Context, name string, gap time.Duration) (time.Duration, error) {
	offset, err := b.log.end()
	if err != nil {
		return 0, err
	}
	f := b.floor(name)
	begin := time.Now()
	took, err := b.applyFloor(ctx, f, gap)
	if err != nil {
		return 0, err
	}
	if err := b.printTrace(offset, begin, name); err != nil {
		return 0, err
	}
	return took, b.removeFloor(ctx, f)
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
			b.progress("%d of %d: pods %s apart %.2f s", i+1, b.n, pause, took.Seconds())
			samples[p].seconds(took)
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
		&policyv1.PodDisruptionBudgetList{},
	} {
		if err := b.client.List(ctx, list, client.InNamespace(b.namespace), client.MatchingLabels{instanceLabel: cluster}); err != nil {
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
