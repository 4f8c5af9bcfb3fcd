// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var errSilent = errors.New("no route to host")

// apiLock is a lease as the API server keeps it, and how often it was asked.
type apiLock struct {
	resourcelock.Interface
	record      resourcelock.LeaderElectionRecord
	gets, wrote int
	err         error
}

func (l *apiLock) Identity() string { return "us" }

func (l *apiLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.gets++
	if l.err != nil {
		return nil, nil, l.err
	}
	record := l.record
	raw, err := json.Marshal(record)
	return &record, raw, err
}

func (l *apiLock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	l.wrote++
	if l.err == nil {
		l.record = record
	}
	return l.err
}

func (l *apiLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, record)
}

// A desk is a lock between an API server and a clock.
type desk struct {
	*testing.T
	api   *apiLock
	lock  *fastTakeoverLock
	clock time.Time
}

func newDesk(t *testing.T, holder string) *desk {
	d := &desk{T: t, api: &apiLock{record: resourcelock.LeaderElectionRecord{HolderIdentity: holder}}, clock: noon}
	d.lock = &fastTakeoverLock{Interface: d.api, now: func() time.Time { return d.clock }}
	return d
}

func (d *desk) update(holder string) error {
	record := resourcelock.LeaderElectionRecord{HolderIdentity: holder, RenewTime: metav1.Time{Time: d.clock}}
	return d.lock.Update(d.Context(), record)
}

// asked checks how often the API server was read and written in all.
func (d *desk) asked(gets, writes int) {
	d.Helper()
	if d.api.gets != gets || d.api.wrote != writes {
		d.Errorf("%d reads and %d writes, want %d and %d", d.api.gets, d.api.wrote, gets, writes)
	}
}

func (d *desk) get(holder string) {
	d.Helper()
	record, raw, err := d.lock.Get(d.Context())
	if err != nil || record.HolderIdentity != holder {
		d.Errorf("got %+v, %v; want the holder %q", record, err, holder)
	}
	if want, err := json.Marshal(record); err != nil || string(raw) != string(want) {
		d.Errorf("got %s, want %s: %v", raw, want, err)
	}
}

// TestStandbyReadsSeldom: what another replica holds is read when the watch reports it,
// or every rereadPeriod.
func TestStandbyReadsSeldom(t *testing.T) {
	d := newDesk(t, "them")
	for range rereadPeriod / TryPeriod {
		d.get("them")
		d.clock = d.clock.Add(TryPeriod)
	}
	d.asked(1, 0)
	d.get("them")
	d.asked(2, 0)
	d.api.record.HolderIdentity = ""
	d.clock = d.clock.Add(TryPeriod)
	d.get("them")
	d.lock.heard.Store(true)
	d.get("")
	d.asked(3, 0)
	d.get("") // what is free is never taken from memory
	d.asked(4, 0)
	d.api.record.HolderIdentity = "others"
	d.get("others")
	d.get("others")
	d.asked(5, 0)
}

// TestStandbyKnowsEachRenewal: within TryPeriod, at the cost of one read for each. From
// then on it counts how long the lease lasts, so that it takes over no later.
func TestStandbyKnowsEachRenewal(t *testing.T) {
	d := newDesk(t, "them")
	d.get("them")
	for range 10 {
		d.api.record.RenewTime = metav1.Time{Time: d.clock}
		d.lock.heard.Store(true)
		for range renewPeriod / TryPeriod {
			record, _, err := d.lock.Get(t.Context())
			if err != nil || !record.RenewTime.Equal(&d.api.record.RenewTime) {
				t.Fatalf("it knows the renewal of %s, not that of %s: %v", record.RenewTime, d.api.record.RenewTime, err)
			}
			d.clock = d.clock.Add(TryPeriod)
		}
	}
	d.asked(11, 0)
}

// TestLeaderRenewsSeldomAndInTime: and says that it has only for as long as it is true
// of the last renewPeriod.
func TestLeaderRenewsSeldomAndInTime(t *testing.T) {
	d := newDesk(t, "")
	d.get("")
	began := d.clock
	for ; d.clock.Sub(began) < time.Minute; d.clock = d.clock.Add(TryPeriod) {
		if err := d.update("us"); err != nil {
			t.Fatal(err)
		}
		if age := d.clock.Sub(d.api.record.RenewTime.Time); age >= renewPeriod {
			t.Fatalf("said to be renewed, and was %s ago", age)
		}
	}
	d.asked(1, 15)
	d.api.err = errSilent
	d.clock = d.clock.Add(renewPeriod)
	for range 3 {
		if err := d.update("us"); !errors.Is(err, errSilent) {
			t.Errorf("the API server is silent: %v", err)
		}
	}
	d.asked(1, 18)
}

// TestNothingIsSkippedAfterDoubt: after the lease was read, a write failed or it was
// given up, the next write is made.
func TestNothingIsSkippedAfterDoubt(t *testing.T) {
	for what, doubt := range map[string]func(*desk){
		"read":     func(d *desk) { d.get("us") },
		"given up": func(d *desk) { _ = d.update("") },
		"failed": func(d *desk) {
			d.clock = d.clock.Add(renewPeriod)
			d.api.err = errSilent
			_ = d.update("us")
			d.api.err = nil
		},
		"never written": func(d *desk) { d.lock = &fastTakeoverLock{Interface: d.api, now: d.lock.now} },
	} {
		t.Run(what, func(t *testing.T) {
			d := newDesk(t, "")
			if err := d.lock.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "us"}); err != nil {
				t.Fatal(err)
			}
			_ = d.update("us")
			d.asked(0, 1)
			doubt(d)
			before := d.api.wrote
			if err := d.update("us"); err != nil || d.api.wrote != before+1 {
				t.Errorf("%v, %d writes", err, d.api.wrote-before)
			}
		})
	}
}

// TestGivingUpIsNeverSkipped: the successor waits for it.
func TestGivingUpIsNeverSkipped(t *testing.T) {
	d := newDesk(t, "")
	if err := errors.Join(d.update("us"), d.update("")); err != nil || d.api.record.HolderIdentity != "" {
		t.Errorf("%v, held by %q", err, d.api.record.HolderIdentity)
	}
}

// TestErrorsOfReadsAreNotRemembered: nor taken for another's lease.
func TestErrorsOfReadsAreNotRemembered(t *testing.T) {
	d := newDesk(t, "them")
	d.get("them")
	d.api.err = errSilent
	d.clock = d.clock.Add(rereadPeriod)
	for range 2 {
		if _, _, err := d.lock.Get(t.Context()); !errors.Is(err, errSilent) {
			t.Errorf("got %v", err)
		}
	}
	d.asked(3, 0)
}
