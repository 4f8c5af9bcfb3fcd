// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/jobspec"
	"github.com/etcd-operator/etcd-operator/internal/etcd"
)

const (
	// writeEvery is the pause between the beginnings of two writes: a gap is known as exactly as that.
	writeEvery = 50 * time.Millisecond
	// writeWithin is how long a write may take. After it the next member is asked, as a client does that knows all of them.
	writeWithin = time.Second
	// mostWrites are on their way at once. It is as many as begin within writeWithin.
	mostWrites = int(writeWithin / writeEvery)
	// leaseLasts is when etcd deletes the key if the Job is killed, and leaseEvery how often the lease is kept alive until then.
	leaseLasts, leaseEvery = time.Minute, 15 * time.Second
)

// measureWrites writes until the Job is stopped, or its time is up, and deletes the key. To be stopped is no failure.
func measureWrites(ctx context.Context, j job) (jobspec.Done, error) {
	w, err := j.writer()
	if err != nil {
		return jobspec.Done{}, err
	}
	limited, cancel := context.WithTimeout(ctx, j.Write.Lasts)
	defer cancel()
	w.until(limited, j)
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer stop()
	measured := w.measured(j.Now())
	w.cleanUp(last)
	return jobspec.Done{Writes: &measured}, nil
}

// writer writes the key of a drill by any of the members.
type writer struct {
	key     []byte
	now     func() time.Time
	members []etcd.Leases
	asked   atomic.Int64 // which of them is asked: their number, modulo how many there are

	granting sync.Mutex
	lease    atomic.Int64 // 0: there is none yet

	lock    sync.Mutex
	measure measure
}

func (j job) writer() (*writer, error) {
	config, err := j.tls()
	if err != nil {
		return nil, &sourceError{"no member can be asked", err}
	}
	w := &writer{key: []byte(j.Write.Key), now: j.Now}
	for _, m := range j.Write.Members {
		member, err := j.members.Leases(owner, etcd.Target{Address: m.Address, TLS: config})
		if err != nil {
			return nil, &sourceError{m.Name, err}
		}
		w.members = append(w.members, member)
	}
	if len(w.members) == 0 {
		return nil, &unclear{"it names no members"}
	}
	return w, nil
}

// until begins a write at each tick, and reports each second what was measured.
func (w *writer) until(ctx context.Context, j job) {
	writes, reports, renewals := time.NewTicker(writeEvery), time.NewTicker(interval), time.NewTicker(leaseEvery)
	defer writes.Stop()
	defer reports.Stop()
	defer renewals.Stop()
	var begun sync.WaitGroup
	defer begun.Wait()
	free := make(chan struct{}, mostWrites)
	for number := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-renewals.C:
			begun.Go(func() { w.renew(ctx) })
		case <-reports.C:
			measured := w.measured(j.Now())
			_ = j.say.line(jobspec.Line{Progress: &jobspec.Progress{Message: "writing until the drill has ended", Writes: &measured}})
		case <-writes.C:
			select {
			case free <- struct{}{}:
				number++
				value := strconv.Itoa(number)
				begun.Go(func() { w.write(ctx, value); <-free })
			default: // as many as may be are on their way, and none is acknowledged
			}
		}
	}
}

// write writes once. What fails since the Job is stopped is no failure.
func (w *writer) write(ctx context.Context, value string) {
	asked := w.asked.Load()
	member := w.members[int(asked)%len(w.members)]
	limited, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	err := w.put(limited, member, value)
	if errors.Is(err, errGranting) || err != nil && ctx.Err() != nil {
		return
	}
	if err != nil {
		w.asked.CompareAndSwap(asked, asked+1)
	}
	w.lock.Lock()
	defer w.lock.Unlock()
	w.measure.add(w.now(), err == nil)
}

// errGranting: another write grants the lease.
var errGranting = errors.New("the lease is being granted")

func (w *writer) put(ctx context.Context, member etcd.Leases, value string) error {
	lease := w.lease.Load()
	if lease == 0 {
		if !w.granting.TryLock() {
			return errGranting
		}
		defer w.granting.Unlock()
		var err error
		if lease, err = member.Grant(ctx, leaseLasts); err != nil {
			return err
		}
		w.lease.Store(lease)
	}
	err := member.Put(ctx, etcd.KeyValue{Key: w.key, Value: []byte(value)}, lease)
	if errors.Is(err, etcd.ErrNoLease) {
		w.lease.CompareAndSwap(lease, 0)
	}
	return err
}

// renew keeps the lease alive. If that fails it is tried again before the lease ends; writes notice if it has ended.
func (w *writer) renew(ctx context.Context) {
	lease := w.lease.Load()
	if lease == 0 {
		return
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_ = w.members[int(w.asked.Load())%len(w.members)].KeepAlive(limited, lease)
}

// cleanUp deletes the key by revoking its lease. If no member does that, etcd deletes the key when the lease ends.
func (w *writer) cleanUp(ctx context.Context) {
	lease := w.lease.Load()
	if lease == 0 {
		return
	}
	first := int(w.asked.Load())
	for i := range w.members {
		limited, cancel := context.WithTimeout(ctx, writeWithin)
		err := w.members[(first+i)%len(w.members)].Revoke(limited, lease)
		cancel()
		if err == nil {
			return
		}
	}
}

func (w *writer) measured(now time.Time) jobspec.Writes {
	w.lock.Lock()
	defer w.lock.Unlock()
	return w.measure.at(now)
}

// measure is what is known of all writes. It begins with the first one that was acknowledged.
type measure struct {
	writes jobspec.Writes
	last   time.Time // that a write was acknowledged; zero: none was
}

// add counts a write that has ended now.
func (m *measure) add(now time.Time, acknowledged bool) {
	switch {
	case !acknowledged && m.last.IsZero():
	case !acknowledged:
		m.writes.Failed++
	default:
		if !m.last.IsZero() {
			m.writes.LongestGap = max(m.writes.LongestGap, now.Sub(m.last))
		}
		m.writes.Acknowledged++
		m.last = now
	}
}

// at is what was measured until now: a gap that lasts is counted, too.
func (m *measure) at(now time.Time) jobspec.Writes {
	w := m.writes
	if !m.last.IsZero() {
		w.LongestGap = max(w.LongestGap, now.Sub(m.last))
	}
	return w
}
