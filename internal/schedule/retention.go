package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Made is one backup that the schedule of a cluster has made, in the store that the cluster names now.
type Made struct {
	Name     string
	For      time.Time // when it was due
	Created  time.Time // by the API server's clock
	Deleting bool      // its object is on its way out

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
	// Untried: nobody wants a trial of it, by spec.backup.verify.
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

// A Goner is a backup that is to go, and why.
type Goner struct{ Name, Because string }

// Goers are the backups that are to go, oldest first, and why none goes if that is so for a reason. Nothing goes while the newest one is not
// verified; the newest verified one never does, nor one that is locked, being restored or being verified.
func Goers(all []Made, keep Keep, zone *time.Location, now time.Time) (goers []Goner, held string) {
	if keep == (Keep{}) {
		return nil, ""
	}
	made := slices.DeleteFunc(slices.Clone(all), func(m Made) bool { return m.Deleting })
	slices.SortFunc(made, func(a, b Made) int {
		return cmp.Or(b.For.Compare(a.For), b.Started.Compare(a.Started), cmp.Compare(a.Name, b.Name))
	})
	if held := unproven(made); held != "" || len(made) == 0 {
		return nil, held
	}
	kept := keep.of(made, zone, now)
	kept[anchor(made)], kept[made[0].Name] = true, true // the schedule is judged by the newest, too
	for _, m := range slices.Backward(made) {
		if !kept[m.Name] && m.InUse == "" && !m.Locked.After(now) {
			goers = append(goers, Goner{m.Name, because(m)})
		}
	}
	return goers, ""
}

func because(m Made) string {
	if m.Failed {
		return "it has failed, and a newer one is good"
	}
	return "spec.backup.retention keeps newer ones"
}

// unproven says why the newest backup is no reason to let others go; empty if it is one. A backup that nobody wants a trial of says nothing:
// the newest that was to have one must have passed it.
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
	for i, m := range good {
		if i < k.Count || k.Age > 0 && now.Sub(m.Started) < k.Age {
			kept[m.Name] = true
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
		seen := map[string]bool{}
		for _, m := range good {
			period := by.of(m.Started.In(zone))
			if len(seen) == by.most && !seen[period] {
				break
			}
			if !seen[period] {
				kept[m.Name] = true
			}
			seen[period] = true
		}
	}
	return kept
}
