// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/cluster/plan"
	"github.com/etcd-operator/etcd-operator/internal/cluster/slow"
)

const (
	// speedEvery is the least time between two looks at how fast members are: a cluster that changes is looked at many times a second.
	speedEvery = 4 * time.Second
	// fewest is how many fsyncs, commits or requests make a mean, and fewestUsual how many what is usual.
	fewest      = 5
	fewestUsual = 100
	// relievedFor is how long leadership is left where it was moved from a slow member, whatever is found then: a load that no leader bears
	// must not move it around.
	relievedFor = 10 * time.Minute
)

// speeds are how fast members have been. Another process begins with what members have counted since they started.
type speeds struct {
	watch    slow.Watch
	last     map[string]cluster.Speed // by member
	looked   time.Time
	relieved time.Time

	roundTrip time.Duration // the largest mean one, of the last hour
	base      []cluster.Speed
	baseAt    time.Time // when that hour began

	disks    []cluster.Anomaly // those that are slower than etcd needs
	diskBase []cluster.Speed
	diskAt   time.Time // since when they are judged
}

// diskFor is how long disks are judged by. The first time it is what members have counted since they started.
const diskFor = 10 * time.Minute

// bounds are within how many seconds 99 of 100 are to be done, as etcd advises (https://etcd.io/docs/v3.6/faq/). A mean above that leaves
// no doubt. A disk that was slow is until it is better by a fifth.
var bounds = map[slow.Signal]float64{slow.Fsync: 0.010, slow.Commit: 0.025}

// SlowDisks are those that are slower than etcd needs, whatever those of the others do, by member and signal. Usual is what it needs.
func (m *Cluster) SlowDisks() []cluster.Anomaly { return m.speeds.disks }

// judgeDisks takes the means of ten minutes in which no backup and no defragmentation was made.
func (s *speeds) judgeDisks(v cluster.View, now time.Time) {
	switch {
	case v.Busy:
		s.diskBase, s.diskAt = v.Speeds, now
		return
	case !s.diskAt.IsZero() && now.Sub(s.diskAt) < diskFor:
		return
	}
	var found []cluster.Anomaly
	for _, is := range v.Speeds {
		was := speedOf(s.diskBase, is.Member)
		for _, signal := range []slow.Signal{slow.Commit, slow.Fsync} {
			disk, bound := cluster.Anomaly{Member: is.Member, Signal: string(signal), Usual: bounds[signal]}, bounds[signal]
			if slices.Contains(s.disks, disk) {
				bound *= 0.8
			}
			if mean, known := totalBy(&is, signal).Since(*totalBy(&was, signal), fewestUsual); known && mean >= bound {
				found = append(found, disk)
			}
		}
	}
	s.disks, s.diskBase, s.diskAt = found, v.Speeds, now
}

// speedOf is what a member had counted before; nothing if that is not known.
func speedOf(all []cluster.Speed, member string) cluster.Speed {
	for _, was := range all {
		if was.Member == member {
			return was
		}
	}
	return cluster.Speed{}
}

const (
	// measureFor is how long round trips are measured. The first time it is what members have counted since they started.
	measureFor = time.Hour
	// fewestTrips is how many of them make a mean.
	fewestTrips = 10
)

// RoundTrip is the largest mean round trip between two members; 0 if it is not known.
func (m *Cluster) RoundTrip() time.Duration { return m.speeds.roundTrip }

// measure takes the mean of every round trip between two members that etcd lists.
func (s *speeds) measure(v cluster.View, now time.Time) {
	if !s.baseAt.IsZero() && now.Sub(s.baseAt) < measureFor {
		return
	}
	listed := map[string]bool{}
	for _, m := range v.Select(cluster.IsListed) {
		listed[strconv.FormatUint(m.ID, 16)] = true
	}
	largest := 0.0
	for _, is := range v.Speeds {
		for _, trip := range is.RoundTrips {
			if mean, known := trip.Since(tripOf(s.base, is.Member, trip.To), fewestTrips); known && listed[trip.To] {
				largest = max(largest, mean)
			}
		}
	}
	if largest > 0 {
		s.roundTrip, s.base, s.baseAt = time.Duration(largest*float64(time.Second)), v.Speeds, now
	}
}

// tripOf is what a member had counted before; nothing if that is not known.
func tripOf(all []cluster.Speed, member, to string) cluster.Total {
	for _, was := range all {
		for _, trip := range was.RoundTrips {
			if was.Member == member && trip.To == to {
				return trip.Total
			}
		}
	}
	return cluster.Total{}
}

// IsSpeedDue says whether the next look is to ask how fast members are.
func (m *Cluster) IsSpeedDue(now time.Time) bool { return now.Sub(m.speeds.looked) >= speedEvery }

// SuspectsSlow says whether a member may be about to be found slow.
func (m *Cluster) SuspectsSlow() bool { return m.speeds.watch.Suspects() }

// Slow is by which members are slower than they were. It adds what the view has, and marks its members.
func (m *Cluster) Slow(v cluster.View, now time.Time) (all []cluster.Anomaly, relieved bool) {
	s := &m.speeds
	if len(v.Speeds) > 0 {
		s.look(v, now)
		s.measure(v, now)
		s.judgeDisks(v, now)
		m.entries.measure(v, now)
	}
	for _, a := range s.watch.Anomalies() {
		all = append(all, cluster.Anomaly{Member: a.Member, Signal: string(a.Signal), Value: a.Value, Usual: a.Usual, Since: a.Since})
		for i := range v.Members {
			v.Members[i].Sluggish = v.Members[i].Sluggish || v.Members[i].Name == a.Member
		}
	}
	return all, now.Sub(s.relieved) < relievedFor
}

func (s *speeds) look(v cluster.View, now time.Time) {
	var samples []slow.Sample
	last := map[string]cluster.Speed{}
	for _, m := range v.Select(cluster.IsVoter) {
		sample := slow.Sample{Member: m.Name, Values: slow.Unknown(), Usual: slow.Unknown()}
		for _, is := range v.Speeds {
			if is.Member != m.Name {
				continue
			}
			sample.Usual = usualOf(is)
			was, known := s.last[m.Name]
			if last[m.Name] = is; known && !v.Busy {
				sample.Values, last[m.Name] = valuesOf(is, was)
			}
		}
		samples = append(samples, sample)
	}
	s.watch.Look(now, samples)
	s.last, s.looked = last, now
}

// valuesOf are what a member has shown since it was asked before, and what the next time counts from: a disk that is slow enough does so
// little between two looks that they say nothing, but for all of them together.
func valuesOf(is, was cluster.Speed) (slow.Values, cluster.Speed) {
	values, next := slow.Unknown(), is
	for i, signal := range slow.Signals {
		values[i], *totalBy(&next, signal) = meanOf(*totalBy(&is, signal), *totalBy(&was, signal))
	}
	return values, next
}

// usualOf are the means since the member's process started.
func usualOf(is cluster.Speed) slow.Values {
	values := slow.Unknown()
	for i, signal := range slow.Signals {
		if mean, known := totalBy(&is, signal).Since(cluster.Total{}, fewestUsual); known {
			values[i] = mean
		}
	}
	return values
}

func totalBy(is *cluster.Speed, signal slow.Signal) *cluster.Total {
	switch signal {
	case slow.Fsync:
		return &is.Fsync
	case slow.Commit:
		return &is.Commit
	default:
		return &is.Apply
	}
}

// meanOf is NaN if it is not known yet. What is counted from next is what was counted from before, then.
func meanOf(is, was cluster.Total) (mean float64, next cluster.Total) {
	if mean, known := is.Since(was, fewest); known {
		return mean, is
	}
	if is.Count < was.Count { // it has begun to count again
		return math.NaN(), is
	}
	return math.NaN(), was
}

// note remembers that leadership was moved away from a slow member.
func (s *speeds) note(v cluster.View, step plan.Step, now time.Time) {
	if move, is := step.(plan.MoveLeader); is {
		if from, _ := v.Member(move.From); from.Sluggish {
			s.relieved = now
		}
	}
}
