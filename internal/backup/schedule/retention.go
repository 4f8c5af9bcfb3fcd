// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/api/v1beta1"
)

// Made is one backup that the schedule of a cluster has made, in the store that the cluster names now.
type Made struct {
	Name     string
	For      time.Time // when it was due
	Created  time.Time // by the API server's clock
	Deleting bool      // its object is on its way out
	Refused  string    // why the store does not delete it; empty if it does, or if that is not known

	Complete bool      // it is in the store
	Failed   bool      // it never will be
	Started  time.Time // when its snapshot was begun; zero if it is not complete
	Proof    Proof
	Locked   time.Time // until when the store refuses to delete it
	InUse    string    // what is restored from it, or that it is being verified; empty if nothing is
}

// Proof says what is known of a backup that is complete.
type Proof int

const (
	// Untried: spec.backup.verify requests no trial of it.
	Untried Proof = iota
	// Verified: it has passed a trial.
	Verified
	// Unproven: it has failed a trial, is yet to have one, or cannot have one.
	Unproven
)

// Keep says which backups stay: each that one of these keeps. All zero: all stay.
type Keep struct {
	Count                          int           // the newest
	Age                            time.Duration // those that are younger
	Daily, Weekly, Monthly, Yearly int           // the newest one of each of so many days, weeks, months and years that have any
}

// due is for when the backup was. One for a time that has not come was made by a clock that was ahead: it counts for when it was made.
func (m Made) due(now time.Time) time.Time {
	if m.For.After(now) {
		return m.Created
	}
	return m.For
}

// begun is when the data of the backup is of, with the same correction.
func (m Made) begun(now time.Time) time.Time {
	if m.Started.After(now) {
		return m.Created
	}
	return m.Started
}

// newestFirst sorts backups by when they were due, which no clock of a node says. Revisions say nothing here: they go back when volumes are
// put back, and what was backed up since is the newest nevertheless.
func newestFirst(made []Made, now time.Time) []v1beta1.Ranked[Made] {
	return v1beta1.NewestFirst(made, func(m Made) v1beta1.BackupAge {
		return v1beta1.BackupAge{Time: m.due(now), Name: m.Name}
	})
}

// Expired is a backup that is to be deleted, and why.
type Expired struct{ Name, Because string }

// Expire are the backups to delete, oldest first, and why none is deleted if there is a reason. None is deleted while the newest one is
// not verified; the newest verified one never does, nor one that is locked, being restored or being verified.
func Expire(all []Made, keep Keep, zone *time.Location, now time.Time) (expired []Expired, held string) {
	if keep == (Keep{}) {
		return nil, ""
	}
	made := slices.DeleteFunc(slices.Clone(all), func(m Made) bool { return m.Deleting })
	for i, ranked := range newestFirst(made, now) {
		made[i] = ranked.Backup
	}
	if held := unproven(made); held != "" || len(made) == 0 {
		return nil, held
	}
	kept := keep.of(made, zone, now)
	kept[anchor(made)], kept[made[0].Name] = true, true // the schedule is judged by the newest, too
	for _, m := range slices.Backward(made) {
		if !kept[m.Name] && m.InUse == "" && !m.Locked.After(now) {
			expired = append(expired, Expired{m.Name, because(m)})
		}
	}
	return expired, ""
}

func because(m Made) string {
	if m.Failed {
		return "it has failed, and a newer one is good"
	}
	return "spec.backup.retention keeps newer ones"
}

// unproven says why the newest backup is no reason to delete others; empty if it is one. A backup without a requested trial proves
// nothing: the newest that was to have one must have passed it.
func unproven(made []Made) string {
	for i, m := range made {
		switch {
		case i == 0 && m.Failed:
			return fmt.Sprintf("the newest backup, %s, has failed: no older one is deleted", m.Name)
		case m.Failed:
			continue
		case !m.Complete:
			return fmt.Sprintf("the newest backup, %s, is not complete yet: no older one is deleted", m.Name)
		case m.Proof == Unproven:
			return fmt.Sprintf("the newest backup, %s, is not verified: no older one is deleted", m.Name)
		case m.Proof == Verified:
			return ""
		}
	}
	return ""
}

// anchor is the newest verified backup; if none is, the newest that is complete.
func anchor(made []Made) string {
	for _, good := range []func(Made) bool{func(m Made) bool { return m.Proof == Verified }, func(Made) bool { return true }} {
		if i := slices.IndexFunc(made, func(m Made) bool { return m.Complete && good(m) }); i >= 0 {
			return made[i].Name
		}
	}
	return ""
}

// of are those of the backups, newest first, that stay.
func (k Keep) of(made []Made, zone *time.Location, now time.Time) map[string]bool {
	kept := map[string]bool{}
	good := slices.DeleteFunc(slices.Clone(made), func(m Made) bool { return m.Failed || !m.Complete })
	ranked := v1beta1.NewestFirst(good, func(m Made) v1beta1.BackupAge {
		return v1beta1.BackupAge{Time: m.begun(now), Name: m.Name}
	})
	for i, m := range ranked {
		if i < k.Count || k.Age > 0 && now.Sub(m.Time) < k.Age {
			kept[m.Backup.Name] = true
		}
	}
	for _, by := range []struct {
		most int
		of   func(time.Time) string
	}{
		{k.Daily, func(t time.Time) string { return t.Format(time.DateOnly) }},
		{k.Weekly, func(t time.Time) string { year, week := t.ISOWeek(); return fmt.Sprint(year, " ", week) }},
		{k.Monthly, func(t time.Time) string { return t.Format("2006-01") }},
		{k.Yearly, func(t time.Time) string { return t.Format("2006") }},
	} {
		for _, name := range newestOfEach(ranked, by.most, func(at time.Time) string { return by.of(at.In(zone)) }) {
			kept[name] = true
		}
	}
	return kept
}

// newestOfEach are the newest of so many periods that have any.
func newestOfEach(good []v1beta1.Ranked[Made], most int, period func(time.Time) string) (names []string) {
	last := ""
	for _, m := range good {
		if len(names) == most {
			break
		}
		if p := period(m.Time); p != last {
			names, last = append(names, m.Backup.Name), p
		}
	}
	return names
}
