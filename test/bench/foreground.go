// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// foregroundPause is between the beginnings of two writes, whether or not the one before has ended: an etcd that stands still
	// delays all that come meanwhile, and each of them counts.
	foregroundPause = 10 * time.Millisecond
	// foregroundLimit ends a write that has failed then.
	foregroundLimit = 5 * time.Second
)

// A foreground is a client that writes all the while.
type foreground struct {
	stop  context.CancelFunc
	all   sync.WaitGroup
	mutex sync.Mutex
	done  []foregroundWrite
}

// A foregroundWrite is one write, from when it was due.
type foregroundWrite struct {
	due    time.Time
	took   time.Duration
	failed bool
}

// startForeground writes over the connection, which stays the caller's.
func startForeground(ctx context.Context, etcd *clientv3.Client) *foreground {
	f := &foreground{}
	ctx, f.stop = context.WithCancel(ctx)
	f.all.Go(func() {
		tick := time.NewTicker(foregroundPause)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case due := <-tick.C:
				f.all.Go(func() { f.write(context.WithoutCancel(ctx), etcd, i, due) })
			}
		}
	})
	return f
}

func (f *foreground) write(ctx context.Context, etcd *clientv3.Client, number int, due time.Time) {
	ctx, cancel := context.WithTimeout(ctx, foregroundLimit)
	defer cancel()
	_, err := etcd.Put(ctx, fmt.Sprintf("foreground/%d", number%100), fmt.Sprint(number))
	w := foregroundWrite{due: due, took: time.Since(due), failed: err != nil}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.done = append(f.done, w)
}

// end stops writing, waits for what is under way, and returns all of it.
func (f *foreground) end() []foregroundWrite {
	f.stop()
	f.all.Wait()
	return f.done
}

// within are the writes that were due from one time to another, in milliseconds, and how many of them failed.
func within(all []foregroundWrite, from, to time.Time) (took sample, failed int) {
	for _, w := range all {
		if w.due.Before(from) || w.due.After(to) {
			continue
		}
		took.milliseconds(w.took)
		if w.failed {
			failed++
		}
	}
	return took, failed
}
