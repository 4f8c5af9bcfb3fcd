// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// A lap is how long the parts of one repetition took.
type lap []time.Duration

func (l lap) String() string {
	var parts []string
	for _, part := range l {
		parts = append(parts, part.Round(10*time.Millisecond).String())
	}
	return strings.Join(parts, " and ")
}

// both makes a cluster of the operator and a floor, lets them be measured, and
// removes them.
func (b *bench) both(ctx context.Context, ours *v1beta1.EtcdCluster, f floor, measure func() ([]row, error)) ([]row, error) {
	if _, err := b.apply(ctx, ours); err != nil {
		return nil, err
	}
	if _, err := b.applyFloor(ctx, f, b.pause); err != nil {
		return nil, err
	}
	rows, err := measure()
	if err != nil {
		return nil, err
	}
	if err := b.remove(ctx, ours.Name); err != nil {
		return nil, err
	}
	return rows, b.removeFloor(ctx, f)
}

// inTurns repeats both, in turns so that the same hour of the machine is in both. A
// first time of each is thrown away. It returns one sample for each part.
func (b *bench) inTurns(parts int, ours, byHand func(round int) (lap, error)) (measured, floors []sample, err error) {
	measured, floors = make([]sample, parts), make([]sample, parts)
	for i := range b.n + 1 {
		took, err := ours(i)
		if err != nil {
			return nil, nil, err
		}
		floored, err := byHand(i)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			b.progress("warm-up: operator %s, floor %s", took, floored)
			continue
		}
		b.progress("%d of %d: operator %s, floor %s", i, b.n, took, floored)
		for part := range parts {
			measured[part].seconds(took[part])
			floors[part].seconds(floored[part])
		}
	}
	return measured, floors, nil
}

// ratio is the row of one part.
func ratio(name string, measured, floor sample, most float64) row {
	return beside(name, "s", measured.median(), floor.median(), atMost(most), measured, floor)
}
