package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// beat is how long one try of a pulse may take.
const beat = 200 * time.Millisecond

// A Pulse is one client that writes every 10 ms and gives up each try after
// 200 ms: a measure of how long a cluster is away.
type Pulse struct {
	stop      context.CancelFunc
	done      sync.WaitGroup
	begun     time.Time
	successes []time.Duration
	failed    int
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
		try, cancel := context.WithTimeout(context.WithoutCancel(ctx), beat)
		_, err := etcd.Put(try, key, fmt.Sprint(i))
		cancel()
		if err != nil {
			p.failed++
			continue
		}
		p.successes = append(p.successes, time.Since(p.begun))
	}
}

// Beats is what a pulse counted.
type Beats struct {
	Writes, Failed int
	Gap            time.Duration // longest time in which no write succeeded
}

// End stops the pulse.
func (p *Pulse) End() Beats {
	p.stop()
	p.done.Wait()
	return Beats{Writes: len(p.successes), Failed: p.failed, Gap: longestGap(p.successes, time.Since(p.begun))}
}

func (b Beats) String() string {
	return fmt.Sprintf("%d writes done, %d failed, longest time without a write %s", b.Writes, b.Failed, b.Gap.Round(time.Millisecond))
}
