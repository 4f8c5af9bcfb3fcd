// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A fastTakeoverLock lets a replica try for the lease often and ask the API server seldom:
// one that stands by reads it when a watch reports that it was renewed or given up, one that
// leads renews it every renewPeriod.
//
// It never says less than the truth about others, nor that a renewal was made which is
// older than renewPeriod. Whether an update is made is for the API server to say: it
// names the version of the lease that was read last.
type fastTakeoverLock struct {
	resourcelock.Interface
	now func() time.Time

	heard   atomic.Bool // the watch reported the lease since it was read last
	renewed time.Time   // when this replica last wrote that it holds the lease; zero if it must write it again
	read    time.Time   // when another holder was read
	record  *resourcelock.LeaderElectionRecord
	raw     []byte
}

// Get repeats what was read less than rereadPeriod ago, while another replica holds the
// lease and the watch has reported nothing since. A lease that is over is thereby known to be
// so at once: its time counts from when a renewal was read.
func (l *fastTakeoverLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.renewed = time.Time{}
	now := l.now()
	if heard := l.heard.Swap(false); !heard && l.record != nil && now.Sub(l.read) < rereadPeriod {
		return l.record, l.raw, nil
	}
	l.record = nil
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.record, l.raw, l.read = record, raw, now
	}
	return record, raw, err
}

// Create makes the lease, and holds it.
func (l *fastTakeoverLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update renews the lease, unless that was done less than renewPeriod ago and nothing
// else was asked or written since.
func (l *fastTakeoverLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == l.Identity() && !l.renewed.IsZero() && l.now().Sub(l.renewed) < renewPeriod {
		return nil
	}
	return l.write(record, func() error { return l.Interface.Update(ctx, record) })
}

// write counts a lease as held from before the request on.
func (l *fastTakeoverLock) write(record resourcelock.LeaderElectionRecord, do func() error) error {
	before := l.now()
	l.renewed, l.record = time.Time{}, nil
	if err := do(); err != nil {
		return err
	}
	if record.HolderIdentity == l.Identity() {
		l.renewed = before
	}
	return nil
}

// A Standby watches the lease until its replica leads, so that it takes over as soon as the lease is given up.
type Standby struct {
	Elected <-chan struct{} // closed when the replica leads

	lock      *fastTakeoverLock
	leases    coordinationclient.LeaseInterface
	lookAgain time.Duration // after a watch that ended
}

// Lock is the lease for the election of a leader.
func (s *Standby) Lock() resourcelock.Interface { return s.lock }

// NeedLeaderElection says that it runs on replicas that do not lead.
func (s *Standby) NeedLeaderElection() bool { return false }

// Start watches until the context ends or the replica leads. Without a watch the
// lease is read now and then all the same.
func (s *Standby) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.Elected:
			cancel()
		case <-ctx.Done():
		}
	}()
	wait.UntilWithContext(ctx, s.watch, s.lookAgain)
	return nil
}

func (s *Standby) watch(ctx context.Context) {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, Name).String()
	watcher, err := s.leases.Watch(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		log.FromContext(ctx).V(1).Info("cannot watch the lease, and takes over a moment later", "because", err.Error())
		return
	}
	defer watcher.Stop()
	for range watcher.ResultChan() {
		s.lock.heard.Store(true)
	}
}
