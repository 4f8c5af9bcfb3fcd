// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"
)

// shortestForeground is how long writes are timed at least while nothing else happens.
const shortestForeground = 10 * time.Second

// backupLarge times backups of a database of so many MiB, in turns with each of their stages alone; after that, writes while a
// backup is made, in turns with writes while none is.
func backupLarge(name string, databaseMiB int, volume string) func(context.Context, *bench) ([]row, error) {
	return func(ctx context.Context, b *bench) ([]row, error) {
		l, err := b.largeCluster(ctx, name, databaseMiB, volume)
		if err != nil {
			return nil, err
		}
		rows, err := b.backupRate(ctx, name, l)
		if err != nil {
			return nil, err
		}
		writes, err := b.backupForeground(ctx, name, l)
		if err != nil {
			return nil, err
		}
		if err := b.removeStore(ctx, l.store); err != nil {
			return nil, err
		}
		return append(rows, writes...), b.remove(ctx, l.cluster)
	}
}

func (b *bench) backupRate(ctx context.Context, name string, l *large) ([]row, error) {
	var peaks sample
	var last finished
	measured, floors, err := b.inTurns(len(stages),
		func(int) (lap, error) {
			var err error
			if last, err = b.back(ctx, l); err != nil {
				return nil, err
			}
			peaks.add(last.peak)
			took := last.took() // is compared with each of the stages
			return lap{took, took, took}, b.forget(ctx, l, last)
		},
		func(int) (lap, error) { return b.stagesAlone(ctx, l, last) })
	if err != nil {
		return nil, err
	}
	return rateRows(name, measured[0], floors, peaks), nil
}

// rateRows have the slowest stage as the floor of the whole, and each stage as a row of its own.
func rateRows(name string, measured sample, floors []sample, peaks sample) []row {
	rows := []row{ratio(name, measured, floors[slowest(floors)], stageGoal)}
	for i, stage := range stages {
		rows = append(rows, alone(name+"-"+stage, "s", floors[i].median(), nil, floors[i]))
	}
	return append(rows, alone(name+"-memory", "MiB", peaks.percentile(100), atMost(backupMiB), peaks))
}

// backupForeground is about what applications notice: a client writes for as long as a backup takes, and while one is made.
func (b *bench) backupForeground(ctx context.Context, name string, l *large) ([]row, error) {
	a, err := b.application(ctx, l.cluster)
	if err != nil {
		return nil, err
	}
	defer a.close()
	var with, without, failures sample
	pause := shortestForeground
	for i := range b.n {
		f := startForeground(ctx, a.etcd)
		begin := time.Now()
		err := sleep(ctx, pause)
		end := time.Now()
		var made finished
		if err == nil {
			made, err = b.back(ctx, l)
		}
		writes := f.end()
		if err != nil {
			return nil, err
		}
		before, failedBefore := within(writes, begin, end)
		during, failedDuring := within(writes, made.manifest.StartedAt, made.manifest.FinishedAt)
		b.progress("%d of %d: of %d writes beside a backup 99 %% took up to %.1f ms, of %d before it up to %.1f ms; %d failed",
			i+1, b.n, len(during), during.percentile(99), len(before), before.percentile(99), failedDuring+failedBefore)
		without.add(before.percentile(99))
		with.add(during.percentile(99))
		failures.add(float64(failedDuring))
		pause = max(shortestForeground, made.took())
		if err := b.forget(ctx, l, made); err != nil {
			return nil, err
		}
	}
	return []row{
		beside(name+"-writes-p99", "ms", with.median(), without.median(), atMost(foregroundGoal), with, without),
		alone(name+"-writes-failed", "writes", failures.percentile(100), atMost(0), failures),
	}, nil
}
