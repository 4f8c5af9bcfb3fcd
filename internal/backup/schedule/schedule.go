// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule decides when the schedule of a cluster makes a backup, and which of the backups that it has made are deleted.
//
// It is pure. It must never read a clock, and never choose a backup that the schedule has not made.
package schedule

import (
	"fmt"
	"strings"
	"time"
	// A container without a database of time zones knows no time zone but UTC.
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
)

// A Schedule says when backups are due, by the clock on the wall of one time zone.
type Schedule struct {
	walls cron.Schedule // of a clock that is never changed
	zone  *time.Location
}

// Parse reads a schedule as that of a CronJob, and a time zone such as Europe/Berlin; an empty one is UTC.
func Parse(text, zone string) (Schedule, error) {
	switch {
	case strings.Contains(text, "TZ="):
		return Schedule{}, fmt.Errorf("schedule %q names a time zone: spec.backup.timeZone does", text)
	case strings.HasPrefix(text, "@every"):
		return Schedule{}, fmt.Errorf("schedule %q names no time: write one such as */30 * * * *", text)
	}
	if strings.EqualFold(zone, "local") {
		return Schedule{}, fmt.Errorf("time zone %q is another one on each machine: name one such as Europe/Berlin", zone)
	}
	where, err := time.LoadLocation(zone)
	if err != nil {
		return Schedule{}, fmt.Errorf("time zone %q is not known: name one such as Europe/Berlin", zone)
	}
	walls, err := cron.ParseStandard("TZ=UTC " + text)
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %q cannot be read: %w", text, err)
	}
	return Schedule{walls: walls, zone: where}, nil
}

// Zone is the time zone of the schedule.
func (s Schedule) Zone() *time.Location { return s.zone }

// Next is the first time after that one; zero if there is none within five years. A time that comes twice in autumn is due twice. One that
// the clock skips in spring is as much later as the clock was put forward: a night without its backup would be worse.
func (s Schedule) Next(after time.Time) time.Time {
	var next time.Time
	from, until := s.wall(after), s.wall(after)
	if s.offset(after) != s.offset(after.Add(change)) || s.offset(after) != s.offset(after.Add(-change)) {
		from, until = from.Add(-change), until.Add(change)
	}
	for wall := s.walls.Next(from); !wall.IsZero(); wall = s.walls.Next(wall) {
		for _, at := range s.moments(wall) {
			if at.After(after) && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		if !next.IsZero() && !wall.Before(until) {
			break
		}
	}
	return next
}

// change is more than any clock is put forward or back.
const change = 3 * time.Hour

func (s Schedule) offset(at time.Time) int {
	_, offset := at.In(s.zone).Zone()
	return offset
}

// moments are those at which the wall clock shows that; if it never does, the one that is as much later as it was put forward.
func (s Schedule) moments(wall time.Time) []time.Time {
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, s.zone).UTC()
	if missing := wall.Sub(s.wall(at)); missing != 0 {
		return []time.Time{at.Add(max(missing, 0))}
	}
	all := []time.Time{at}
	for _, other := range []time.Time{at.Add(-change), at.Add(change)} {
		twice := at.Add(time.Duration(s.offset(at)-s.offset(other)) * time.Second)
		if !twice.Equal(at) && s.wall(twice).Equal(wall) {
			all = append(all, twice)
		}
	}
	return all
}

// wall is what the clock on the wall shows, as a time without a zone.
func (s Schedule) wall(at time.Time) time.Time {
	local := at.In(s.zone)
	return time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), 0, time.UTC)
}

// windows are how far back times are looked for, one after the other, so that a year of minutes is not gone through.
var windows = []time.Duration{2 * time.Hour, 48 * time.Hour, 40 * 24 * time.Hour, 400 * 24 * time.Hour, 5 * 366 * 24 * time.Hour}

// latest is the last time that is after one and not after the other; zero if there is none.
func latest(next func(time.Time) time.Time, after, until time.Time) time.Time {
	for _, window := range windows {
		from := until.Add(-window)
		ends := !from.After(after)
		if ends {
			from = after
		}
		var found time.Time
		for t := next(from); !t.IsZero() && !t.After(until); t = next(t) {
			found = t
		}
		if !found.IsZero() || ends {
			return found
		}
	}
	return time.Time{}
}

// interval is how long before this time the wall clock showed the time before it. It is as long in the nights in which the clock is
// changed as in all others.
func (s Schedule) interval(at time.Time) time.Duration {
	wall := s.wall(at)
	before := latest(s.walls.Next, time.Time{}, wall.Add(-time.Second))
	if before.IsZero() {
		return 0
	}
	return wall.Sub(before)
}

// Due is the newest time that is due: after the last one, and not after now. It is zero if none is. Those that were missed are made up for
// once. If there was a backup for the last one, a time is skipped if less than half an interval has passed since: that is the second of
// the two in the hour that comes twice.
func (s Schedule) Due(last time.Time, was bool, now time.Time) time.Time {
	due := latest(s.Next, last, now)
	if due.IsZero() || was && s.skips(last, due) {
		return time.Time{}
	}
	return due
}

func (s Schedule) skips(last, due time.Time) bool { return due.Sub(last) < s.interval(due)/2 }

// Coming is when the next backup is due after now.
func (s Schedule) Coming(last time.Time, was bool, now time.Time) time.Time {
	next := s.Next(now)
	if !next.IsZero() && was && s.skips(last, next) {
		return s.Next(next)
	}
	return next
}
