// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package load keeps clients busy while an etcd cluster is disturbed, and says
// afterwards what they saw: whether all answers fit one order of all operations,
// whether a write was lost, and for how long nobody could write.
//
// It must never know what the disturbance is, nor about Kubernetes.
package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	writers = 3
	readers = 3
	keys    = 5
	// pause between two calls of a client makes at most 100 of them a second.
	pause = 10 * time.Millisecond
	// patience is how long a client waits for an answer. etcd itself waits 7 s for
	// what it handed to a leader that died.
	patience = time.Second
)

// Dial makes a connection for one client. It must not repeat calls by itself
// (MaxUnaryRetries: 1), because a write that is made twice looks like a lost one.
type Dial func() (*clientv3.Client, error)

// A Load is clients at work.
type Load struct {
	dial    Dial
	prefix  string
	begun   time.Time
	stop    context.CancelFunc
	stopped context.Context
	clients []*worker
	all     sync.WaitGroup
}

// worker is one client, which makes one call at a time.
type worker struct {
	load    *Load
	id      int
	etcd    *clientv3.Client
	history []Operation
}

// Start sets clients to work on keys of their own.
func Start(ctx context.Context, dial Dial) (*Load, error) {
	l := &Load{dial: dial, begun: time.Now(), prefix: fmt.Sprintf("load/%d/", time.Now().UnixNano())}
	l.stopped, l.stop = context.WithCancel(ctx)
	for id := range writers + readers {
		etcd, err := dial()
		if err != nil {
			l.close()
			return nil, fmt.Errorf("dial for client %d: %w", id, err)
		}
		l.clients = append(l.clients, &worker{load: l, id: id, etcd: etcd})
	}
	for _, w := range l.clients {
		l.all.Go(w.work)
	}
	return l, nil
}

func (l *Load) since() time.Duration { return time.Since(l.begun) }

func (l *Load) key(i int) string { return fmt.Sprintf("%s%d", l.prefix, i%keys) }

func (l *Load) close() {
	l.stop()
	l.all.Wait()
	for _, w := range l.clients {
		_ = w.etcd.Close() // nothing is under way any more
	}
}

func (w *worker) work() {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-w.load.stopped.Done():
			return
		case <-tick.C:
		}
		o := Operation{Client: w.id, Key: w.load.key(i + w.id), Write: w.id < writers}
		if o.Write {
			o.Value = fmt.Sprintf("%d.%d", w.id, i)
		}
		w.history = append(w.history, w.do(o))
	}
}

// do makes one call. It has a context of its own, so that the last calls end as
// all others do.
func (w *worker) do(o Operation) Operation {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.load.stopped), patience)
	defer cancel()
	o.Call = w.load.since()
	if o.Write {
		o.Saw, o.Err = write(ctx, w.etcd, o.Key, o.Value)
	} else {
		o.Saw, _, o.Err = read(ctx, w.etcd, o.Key)
	}
	o.Return = w.load.since()
	o.Outcome = outcome(o)
	if o.Outcome != OK {
		w.redial()
	}
	return o
}

// redial leaves a connection that failed, as an application should: behind a
// Service the next one may reach another member.
func (w *worker) redial() {
	fresh, err := w.load.dial()
	if err != nil {
		return
	}
	_ = w.etcd.Close() // it failed before
	w.etcd = fresh
}

func write(ctx context.Context, etcd *clientv3.Client, key, value string) (string, error) {
	answer, err := etcd.Put(ctx, key, value, clientv3.WithPrevKV())
	if err != nil || answer.PrevKv == nil {
		return "", err //nolint:wrapcheck // it is recorded as it is
	}
	return string(answer.PrevKv.Value), nil
}

// read is linearizable, as etcd's reads are unless asked otherwise. It also says
// how often the key was written.
func read(ctx context.Context, etcd *clientv3.Client, key string) (string, int64, error) {
	answer, err := etcd.Get(ctx, key)
	if err != nil || len(answer.Kvs) == 0 {
		return "", 0, err //nolint:wrapcheck // it is recorded as it is
	}
	return string(answer.Kvs[0].Value), answer.Kvs[0].Version, nil
}

// refusals are answers of etcd to what it has not begun.
var refusals = []error{rpctypes.ErrNoSpace, rpctypes.ErrTooManyRequests}

// outcome takes nothing for a failure that might yet happen. A read that failed
// tells nothing and changes nothing.
func outcome(o Operation) Outcome {
	if o.Err == nil {
		return OK
	}
	for _, refusal := range refusals {
		if errors.Is(o.Err, refusal) {
			return Failed
		}
	}
	if !o.Write {
		return Failed
	}
	return Unknown
}
