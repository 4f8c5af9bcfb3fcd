// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// upgradeFrom and upgradeTo are a minor version apart.
const upgradeFrom, upgradeTo = "3.6.16", "3.7.3"

// upgrade times an upgrade of a new cluster to the next minor version.
func upgrade(ctx context.Context, b *bench) ([]row, error) {
	measured, floors, err := b.inTurns(1,
		func(i int) (lap, error) { return b.upgradeOurs(ctx, fmt.Sprintf("upgrade-%d", i)) },
		func(i int) (lap, error) { return b.upgradeFloor(ctx, fmt.Sprintf("upgrade-floor-%d", i)) })
	if err != nil {
		return nil, err
	}
	return []row{ratio("upgrade", measured[0], floors[0], 1.2)}, nil
}

func (b *bench) upgradeOurs(ctx context.Context, name string) (lap, error) {
	if err := b.readyToUpgrade(ctx, name); err != nil {
		return nil, err
	}
	took, err := b.upgradeReady(ctx, name)
	if err != nil {
		return nil, err
	}
	return lap{took}, b.remove(ctx, name)
}

// readyToUpgrade makes a cluster of three members, and lets it rest.
func (b *bench) readyToUpgrade(ctx context.Context, name string) error {
	cluster := b.threeMembers(name)
	cluster.Spec.Version = upgradeFrom
	if _, err := b.apply(ctx, cluster); err != nil {
		return err
	}
	return b.rested(ctx, name, 3)
}

// upgradeReady says how long it takes from the change of the version until every member serves
// with it.
func (b *bench) upgradeReady(ctx context.Context, name string) (time.Duration, error) {
	begin := time.Now()
	if err := b.edit(ctx, name, func(spec *v1beta1.EtcdClusterSpec) { spec.Version = upgradeTo }); err != nil {
		return 0, err
	}
	err := b.upgraded(ctx, name)
	return time.Since(begin), err
}

// upgraded waits until every member serves and says that it runs the new version.
func (b *bench) upgraded(ctx context.Context, cluster string) error {
	_, err := b.wholeOf(ctx, cluster, 3, func(s seat) bool { return s.status.Version == upgradeTo })
	return err
}

// upgradeFloor does what an operator would do who need not look: the followers one
// after the other, each as soon as clients reach the one before, the leader last.
func (b *bench) upgradeFloor(ctx context.Context, name string) (lap, error) {
	f := b.floor(name)
	if _, err := b.applyFloor(ctx, f, b.pause); err != nil {
		return nil, err
	}
	now, err := b.restedFloor(ctx, f, 3)
	if err != nil {
		return nil, err
	}
	image := "gcr.io/etcd-development/etcd:v" + upgradeTo
	begin := time.Now()
	for _, s := range now.followers {
		if err := b.swapImage(ctx, s, image); err != nil {
			return nil, err
		}
	}
	old := now.leader
	if _, err := b.moveLeader(ctx, now, now.followers[0]); err != nil {
		return nil, err
	}
	if err := b.swapImage(ctx, old, image); err != nil {
		return nil, err
	}
	if err := b.upgraded(ctx, name); err != nil {
		return nil, err
	}
	took := time.Since(begin)
	return lap{took}, b.removeFloor(ctx, f)
}
