// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// beat is how long one try of a pulse may take.
	beat = 200 * time.Millisecond
	// tries are made for one write before it has failed, one after the other.
	tries = 5
)

// A Pulse is one client that writes every 10 ms, gives up each try after 200 ms and
// tries again 10 ms later: a measure of how long a cluster is away.
type Pulse struct {
	stop                     context.CancelFunc
	done                     sync.WaitGroup
	begun                    time.Time
	successes                []time.Duration
	failed, refused, repeats int
}

// StartPulse writes the key over the connection, which stays the caller's.
func StartPulse(ctx context.Context, etcd *clientv3.Client, key string) *Pulse {
	p := &Pulse{begun: time.Now()}
	ctx, p.stop = context.WithCancel(ctx)
	p.done.Go(func() { p.run(ctx, etcd, key) })
	return p
}

func (p *Pulse) run(ctx context.Context, etcd *clientv3.Client, key string) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := p.write(context.WithoutCancel(ctx), etcd, key, fmt.Sprint(i))
		switch {
		case err == nil:
			p.successes = append(p.successes, time.Since(p.begun))
		case IsUnanswered(err):
			p.failed++
		default:
			p.failed++
			p.refused++
		}
	}
}

// write says why the last try failed, if all have.
func (p *Pulse) write(ctx context.Context, etcd *clientv3.Client, key, value string) (err error) {
	for i := range tries {
		if i > 0 {
			time.Sleep(pause)
		}
		try, cancel := context.WithTimeout(ctx, beat)
		_, err = etcd.Put(try, key, value)
		cancel()
		if err == nil {
			return nil
		}
		p.repeats++
	}
	return err
}

// unanswered are what a call ends with that took too long, or for which there was no leader.
var unanswered = []error{
	context.DeadlineExceeded, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost,
	rpctypes.ErrLeaderChanged, rpctypes.ErrNoLeader,
}

// IsUnanswered says whether a call failed for want of time or of a leader. Both happen on a busy machine: its members elect by themselves.
func IsUnanswered(err error) bool {
	isOne := func(one error) bool { return errors.Is(err, one) }
	return status.Code(err) == codes.DeadlineExceeded || slices.ContainsFunc(unanswered, isOne)
}

// Beats is what a pulse counted.
type Beats struct {
	Writes, Failed int
	Refused        int           // of those that failed; the others had no answer
	Tries          int           // that failed; a write has several
	Gap            time.Duration // longest time in which no write succeeded
}

// End stops the pulse.
func (p *Pulse) End() Beats {
	p.stop()
	p.done.Wait()
	return Beats{
		Writes: len(p.successes), Failed: p.failed, Refused: p.refused, Tries: p.repeats,
		Gap: longestGap(p.successes, time.Since(p.begun)),
	}
}

func (b Beats) String() string {
	return fmt.Sprintf("%d writes done, %d failed, %d of them refused, %d failed tries, longest time without a write %s",
		b.Writes, b.Failed, b.Refused, b.Tries, b.Gap.Round(time.Millisecond))
}
