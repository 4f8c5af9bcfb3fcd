// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lastRead is how long the last reads may take: the cluster has had its time.
const lastRead = 30 * time.Second

// A Result is what clients saw. Failed counts calls of both kinds that got no
// good answer.
type Result struct {
	Writes, Reads, Failed int
	Gap                   time.Duration // longest time in which no write succeeded
	History               []Operation

	lost error
}

// End stops the clients, reads every key a last time, and counts.
func (l *Load) End() Result {
	l.stop()
	l.all.Wait()
	defer l.close()
	var r Result
	for _, w := range l.clients {
		r.History = append(r.History, w.history...)
	}
	end := l.since()
	var successes []time.Duration
	for _, o := range r.History {
		switch {
		case o.Outcome != OK:
			r.Failed++
		case o.Write:
			r.Writes++
			successes = append(successes, o.Return)
		default:
			r.Reads++
		}
	}
	r.Gap = longestGap(successes, end)
	for i := range keys {
		last, err := l.last(l.key(i), r.History)
		r.History = append(r.History, last)
		r.lost = errors.Join(r.lost, err)
	}
	return r
}

// last reads a key when all is over, and compares how often etcd says that it was
// written with how often clients were told so.
func (l *Load) last(key string, history []Operation) (Operation, error) {
	etcd, err := l.dial()
	if err != nil {
		return Operation{}, fmt.Errorf("dial for the last read of %s: %w", key, err)
	}
	defer etcd.Close() //nolint:errcheck // only read
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.stopped), lastRead)
	defer cancel()
	o := Operation{Client: len(l.clients), Key: key, Call: l.since()}
	var version int64
	for {
		// A read may be repeated, and has to be when a leader has just changed.
		if o.Saw, version, o.Err = read(ctx, etcd, key); o.Err == nil || ctx.Err() != nil {
			break
		}
		time.Sleep(pause)
	}
	o.Return, o.Outcome = l.since(), outcome(o)
	if o.Err != nil {
		return o, fmt.Errorf("last read of %s: %w", key, o.Err)
	}
	return o, counted(key, version, history)
}

// counted says whether etcd knows of every acknowledged write, and of none that
// nobody made.
func counted(key string, version int64, history []Operation) error {
	var done, perhaps int64
	for _, o := range history {
		switch {
		case o.Key != key || !o.Write || o.Outcome == Failed:
		case o.Outcome == OK:
			done++
		default:
			perhaps++
		}
	}
	if version < done || version > done+perhaps {
		return fmt.Errorf("key %s was written %d times, but %d writes were acknowledged and %d had no answer", key, version, done, perhaps)
	}
	return nil
}

// Err says whether a write was lost, or an answer was wrong.
func (r Result) Err() error { return errors.Join(r.lost, Check(r.History)) }

func (r Result) String() string {
	return fmt.Sprintf("%d writes and %d reads done, %d calls failed, longest time without a write %s",
		r.Writes, r.Reads, r.Failed, r.Gap.Round(time.Millisecond))
}
