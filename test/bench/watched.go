// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/etcd-operator/etcd-operator/test/load"
)

// watchers are connections through the client Service, as those of applications that each
// watch a few keys: with so many, every member is watched.
const watchers, watchesEach = 20, 10

// upgradeWatched times the operator's upgrade of a cluster that clients watch and write to,
// beside its upgrade of one that has neither: etcd waits for streams when it is to end.
func upgradeWatched(ctx context.Context, b *bench) ([]row, error) {
	var failed sample
	measured, floors, err := b.inTurns(1,
		func(i int) (lap, error) {
			took, beats, err := b.upgradeUnderWatch(ctx, fmt.Sprintf("upgrade-watched-%d", i))
			if i > 0 {
				b.progress("%s", beats)
				failed.add(float64(beats.Failed))
			}
			return took, err
		},
		func(i int) (lap, error) { return b.upgradeOurs(ctx, fmt.Sprintf("upgrade-unwatched-%d", i)) })
	if err != nil {
		return nil, err
	}
	return []row{
		ratio("upgrade-watched", measured[0], floors[0], 1.2),
		alone("upgrade-watched-failed", "writes", failed.percentile(100), atMost(0), failed),
	}, nil
}

func (b *bench) upgradeUnderWatch(ctx context.Context, name string) (lap, load.Beats, error) {
	if err := b.readyToUpgrade(ctx, name); err != nil {
		return nil, load.Beats{}, err
	}
	ended, stop, err := b.watchAll(ctx, name)
	if err != nil {
		return nil, load.Beats{}, err
	}
	defer stop()
	var took time.Duration
	beats, err := b.pulse(ctx, name, func() error {
		took, err = b.upgradeReady(ctx, name)
		return err
	})
	if err != nil {
		return nil, load.Beats{}, err
	}
	select {
	case err := <-ended:
		return nil, load.Beats{}, fmt.Errorf("a watch has ended: %w", err)
	default:
		return lap{took}, beats, b.remove(ctx, name)
	}
}

// watchAll opens all watches, and tells of those that end before they are stopped: clients
// take them up again by themselves at another member.
func (b *bench) watchAll(ctx context.Context, name string) (ended <-chan error, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	all, end := make([]*application, 0, watchers), make(chan error, watchers*watchesEach)
	stop = func() {
		cancel()
		for _, a := range all {
			a.close()
		}
	}
	for range watchers {
		a, err := b.application(ctx, name)
		if err != nil {
			stop()
			return nil, nil, err
		}
		all = append(all, a)
		for i := range watchesEach {
			follow(ctx, a.etcd.Watch(ctx, fmt.Sprintf("watched/%d", i), clientv3.WithCreatedNotify()), end)
		}
	}
	return end, stop, nil
}

// follow returns when the watch is open, and reads what it brings.
func follow(ctx context.Context, watch clientv3.WatchChan, ended chan<- error) {
	<-watch
	go func() {
		for response := range watch {
			if err := response.Err(); err != nil {
				ended <- err
				return
			}
		}
		if ctx.Err() == nil {
			ended <- errors.New("its channel is closed")
		}
	}()
}
