// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import "time"

// Speed is how fast a voter is, as it was asked for at this look.
type Speed struct {
	Member        string
	Fsync, Commit Total       // since its start: of the write-ahead log, and of the database
	Apply         Total       // since its start: of requests
	RoundTrips    []RoundTrip // to its peers, since its start
	Log           Log
}

// Log is when a member's process has started, in seconds since 1970, how many bytes of the write-ahead log it has written since then, and
// up to which entry it has applied it.
type Log struct{ Started, Bytes, Applied float64 }

// Since is the mean size in bytes of the entries since an earlier look; not known if they are fewer than that, or if the member has
// restarted.
func (l Log) Since(was Log, least float64) (size float64, known bool) {
	entries := l.Applied - was.Applied
	if l.Started != was.Started || entries < max(least, 1) {
		return 0, false
	}
	return (l.Bytes - was.Bytes) / entries, true
}

// Total is how often something was done, and how many seconds that took in all.
type Total struct{ Seconds, Count float64 }

// RoundTrip is the one to a peer, by its ID in hexadecimal.
type RoundTrip struct {
	To string
	Total
}

// Since is the mean of what was done since an earlier total, in seconds; not known if that was less often than that, or if the member has
// begun to count again.
func (t Total) Since(was Total, least float64) (mean float64, known bool) {
	count, seconds := t.Count-was.Count, t.Seconds-was.Seconds
	if count < max(least, 1) || seconds < 0 {
		return 0, false
	}
	return seconds / count, true
}

// Anomaly is that a member is slower than its peers, and than it was, by one signal: fsync, commit or apply, in seconds.
// Value and Usual are those of when it was found.
type Anomaly struct {
	Member, Signal string
	Value, Usual   float64
	Since          time.Time
}

// Figure is a value of its signal as people read it.
func (a Anomaly) Figure(value float64) string {
	return time.Duration(value * float64(time.Second)).Round(100 * time.Microsecond).String()
}

// Replacing is a member that stays slow, and is replaced; it is empty if none is.
type Replacing struct {
	Member, Why string
	Since       int64 // when that was decided, in seconds since 1970
}

// IsExchanged says whether another member is to take the place of one that is well.
func IsExchanged(m Member) bool { return m.Exchange != "" }

// IsGivenUp says whether a member does not run that a person wants replaced: nothing is to be waited for.
func IsGivenUp(m Member) bool { return m.Asked && IsAway(m) && !IsAwaited(m) }

// IsSluggish says whether the member is slower than its peers, and than it was.
func IsSluggish(m Member) bool { return m.Sluggish }
