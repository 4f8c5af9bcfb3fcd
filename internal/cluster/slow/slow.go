// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package slow finds members that are slower than the others, and than they were.
//
// A member is compared with its peers at the same moment, which leaves out what slows all of them down, and with what was usual for both:
// that is first what their etcd has counted since it started. Only what a member does by itself counts. How far away it is, from the
// operator or from its leader, is not slowness. It is pure, and holds no clock: every look brings its time.
package slow

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Signal is what a member's speed is measured by.
type Signal string

// The signals: means between two looks, in seconds.
const (
	Fsync  Signal = "fsync"  // to sync the write-ahead log
	Commit Signal = "commit" // to commit to the database
	Apply  Signal = "apply"  // to apply a request
)

// Signals are all of them, in the order of Values.
var Signals = [...]Signal{Fsync, Commit, Apply}

// floors are values below which a member is not slow, whatever the others do. Those of disks are half of what etcd advises for the 99th
// percentile (https://etcd.io/docs/v3.6/faq/): 10 ms and 25 ms. That of requests is half of what etcd writes into its log as slow
// (--warning-apply-duration): 100 ms.
var floors = Values{0.005, 0.0125, 0.05}

// Values are what one member has shown at one look, by the order of Signals; NaN where that is not known.
type Values [len(Signals)]float64

// Unknown is a member of which nothing is known.
func Unknown() Values { return Values{math.NaN(), math.NaN(), math.NaN()} }

// Sample is what one member has shown since the look before, and since its process started.
type Sample struct {
	Member string
	Values Values
	Usual  Values
}

// Anomaly is one signal by which a member is slow. Value and Usual are those of when it was found.
type Anomaly struct {
	Member       string
	Signal       Signal
	Value, Usual float64
	Since        time.Time
}

// Watch is what is known of the members of one cluster. Its zero value knows nothing.
type Watch struct {
	members map[string]*[len(Signals)]series
}

// least is how many peers a member is compared with at least: with one it were not known which of both is slow.
const least = 2

// Look takes what members have shown at one moment. Members that are not among them are forgotten.
func (w *Watch) Look(at time.Time, samples []Sample) {
	known := w.members
	w.members = map[string]*[len(Signals)]series{}
	for _, s := range samples {
		w.members[s.Member] = cmp.Or(known[s.Member], &[len(Signals)]series{})
		for i := range Signals {
			w.members[s.Member][i].begin(s.Usual[i])
		}
	}
	for i := range Signals {
		usual := map[string]float64{} // before this look
		for _, s := range samples {
			usual[s.Member] = w.members[s.Member][i].usual
		}
		for _, s := range samples {
			peers, usualPeers, enough := peersOf(samples, usual, s.Member, i)
			if enough && usual[s.Member] > 0 && !math.IsNaN(s.Values[i]) {
				w.members[s.Member][i].look(at, s.Values[i], peers, usualPeers, floors[i])
			}
		}
	}
}

// Anomalies are those that there are, by the order of the members.
func (w *Watch) Anomalies() []Anomaly {
	var all []Anomaly
	for member, signals := range w.members {
		for i := range signals {
			if s := signals[i]; !s.since.IsZero() {
				all = append(all, Anomaly{Member: member, Signal: Signals[i], Value: s.value, Usual: s.then, Since: s.since})
			}
		}
	}
	slices.SortFunc(all, func(a, b Anomaly) int {
		return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Signal, b.Signal))
	})
	return all
}

// Suspects says whether a member may be about to be found slow: the next look is worth being soon.
func (w *Watch) Suspects() bool {
	for _, signals := range w.members {
		for i := range signals {
			if signals[i].since.IsZero() && signals[i].bad > 0 {
				return true
			}
		}
	}
	return false
}

// peersOf are the medians of what the others show and of what is usual for them, and whether there are enough.
func peersOf(samples []Sample, usual map[string]float64, member string, signal int) (now, before float64, enough bool) {
	var all, were []float64
	for _, s := range samples {
		if s.Member != member && !math.IsNaN(s.Values[signal]) && usual[s.Member] > 0 {
			all, were = append(all, s.Values[signal]), append(were, usual[s.Member])
		}
	}
	if len(all) < least {
		return 0, 0, false
	}
	return median(all), median(were), true
}

// median sorts what it is given.
func median(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	return (all[(n-1)/2] + all[n/2]) / 2
}
