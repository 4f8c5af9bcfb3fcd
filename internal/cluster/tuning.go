// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"math"
	"time"
)

// Settings are those of etcd that there is advice for.
type Settings struct {
	Heartbeat, Election time.Duration
	SnapshotCount       int64
	Version             string        // that all members run, 3.6.16
	RoundTrip           time.Duration // the largest mean one between two members; 0 if it is not known
	EntrySize           int64         // bytes of an entry of the log; 0 if it is not known
}

// Advice is a better value of a setting. Size is the value as a number, by which two pieces of advice are compared.
type Advice struct {
	Setting, Now, Wanted, Why string
	Size                      float64
	Since                     int64 // when it was first given, in seconds since 1970
}

// Limits and defaults of etcd (https://etcd.io/docs/v3.6/tuning/). Nothing below the defaults is advised: it costs traffic and CPU, and a
// busy machine loses its leader for it.
const (
	usualHeartbeat   = 100 * time.Millisecond
	usualElection    = time.Second
	longestHeartbeat = 5 * time.Second // a tenth of the longest election timeout
	longestElection  = 50 * time.Second
	// UsualSnapshots is the default since etcd 3.6, which holds that many entries in memory (https://github.com/etcd-io/etcd/pull/15408).
	UsualSnapshots = 10_000
	// fewestSnapshots is the least that is advised: each snapshot commits the database and syncs the log while nothing is applied. A leader
	// keeps the last 5,000 entries in memory for followers that are behind (SnapshotCatchUpEntries), however few lie between two snapshots.
	// Only after a restart it has no more than those since its last snapshot: a follower that is further behind gets the whole database.
	fewestSnapshots = 500
	// logSize is what entries between two snapshots are to take: two segments of the log. etcd never keeps fewer than five, so that less frees
	// nothing. With four, the one that a snapshot is in and the one that is made next, the log has all of the room that it is meant to have.
	logSize = 2 * 64 << 20
	// worth is by how many times a value has to be too large: to change one restarts all members.
	worth = 2
)

// Advise is which settings would be better otherwise. A heartbeat is to be half of the largest round trip at least, and about as long; an
// election timeout ten times as long as either. What is too short costs elections and is always said; what is too long only costs time
// when a leader fails, or memory, and has to be twice as long.
func Advise(s Settings) []Advice {
	var all []Advice
	heartbeat := min(max(roundUp(s.RoundTrip, 10*time.Millisecond), usualHeartbeat), longestHeartbeat)
	election := min(max(roundUp(10*s.RoundTrip, 100*time.Millisecond), 10*heartbeat, usualElection), longestElection)
	measured := "the largest mean round trip between members is " + significant(s.RoundTrip).String()
	switch {
	case s.RoundTrip == 0:
	case s.Heartbeat < s.RoundTrip/2 && s.Heartbeat < heartbeat:
		all = append(all, interval("etcd.heartbeatInterval", s.Heartbeat, heartbeat, measured+", and a heartbeat is to be half of that at least"))
	case s.Heartbeat >= worth*heartbeat:
		all = append(all, interval("etcd.heartbeatInterval", s.Heartbeat, heartbeat, measured+": a leader that fails is noticed sooner"))
	}
	switch {
	case s.RoundTrip == 0:
	case s.Election < 10*s.RoundTrip && s.Election < election:
		all = append(all, interval("etcd.electionTimeout", s.Election, election,
			measured+", and an election timeout is to be ten times that: members begin elections without need"))
	case s.Election >= worth*election:
		all = append(all, interval("etcd.electionTimeout", s.Election, election, measured+": a leader that fails is replaced sooner"))
	}
	return append(all, snapshots(s)...)
}

// snapshots is advice to have fewer entries between two snapshots. There is none to have more: values that are small today may be large
// again at night, and each change restarts all members.
func snapshots(s Settings) []Advice {
	wanted, why := s.SnapshotCount, ""
	if keepsEntries(s.Version) && wanted > UsualSnapshots {
		wanted, why = UsualSnapshots, "etcd holds as many entries of its log in memory, and its default is less since 3.6"
	}
	if log := s.SnapshotCount * s.EntrySize; log >= worth*logSize {
		if fits := max(logSize/s.EntrySize/100*100, fewestSnapshots); fits < wanted {
			wanted = fits
			why = fmt.Sprintf("an entry of the log has %d KiB: between two snapshots the log takes %d MiB of a volume", s.EntrySize>>10, log>>20)
		}
	}
	if why == "" || s.SnapshotCount < worth*wanted {
		return nil
	}
	return []Advice{{
		Setting: "etcd.snapshotCount", Now: fmt.Sprint(s.SnapshotCount), Wanted: fmt.Sprint(wanted), Size: float64(wanted), Why: why,
	}}
}

// keepsEntries says whether members run etcd 3.6 or newer. Earlier ones have ten times as many entries by default.
func keepsEntries(version string) bool {
	return version != "" && version[:min(4, len(version))] != "3.5."
}

func interval(setting string, now, wanted time.Duration, why string) Advice {
	return Advice{Setting: setting, Now: now.String(), Wanted: wanted.String(), Why: why, Size: wanted.Seconds()}
}

func roundUp(d, step time.Duration) time.Duration { return (d + step - 1) / step * step }

// significant keeps two digits of a duration, so that it does not change all the time.
func significant(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	step := time.Duration(math.Pow(10, math.Floor(math.Log10(float64(d)))-1))
	return d.Round(max(step, time.Microsecond))
}
