// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/backup/schedule"
)

var steps = flag.Int("walk", 400, "steps of each random walk")

var schedules = []string{
	"* * * * *", "30 * * * *", "30 2 * * *", "0 9,10 * * *", "15 3 * * 1", "0 0 1 * *", "*/20 1-4 * * *", "@daily", "@weekly",
}

func looked(w *world) schedule.Step {
	step, _ := w.look()
	return step
}

// TestClocks goes through days in which clocks are changed and operators are away, and holds: never two backups for one time, none while
// one runs, none without its time having come, and none missing for long while the operator runs.
func TestClocks(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a walk that can be repeated
		zone := []string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"}[random.IntN(5)]
		text := schedules[random.IntN(len(schedules))]
		begin := time.Date(2026, []time.Month{3, 10, 11, 4}[random.IntN(4)], 20+random.IntN(9), random.IntN(24), 0, 0, 0, time.UTC)
		w := world{v: schedule.View{Cluster: "a", Schedule: text, TimeZone: zone, Created: begin}, at: begin}
		w.takes = time.Duration(random.IntN(90)) * time.Minute
		seen := map[string]bool{}
		for range *steps {
			w.at = w.at.Add(time.Duration(1+random.IntN(40)) * time.Minute)
			if random.IntN(50) == 0 {
				w.at = w.at.Add(time.Duration(random.IntN(40)) * time.Hour)
			}
			running := slices.ContainsFunc(w.v.Made, func(m schedule.Made) bool { return !m.Complete && w.at.Sub(m.Created) < w.takes })
			c, made := looked(&w).(schedule.Create)
			if !made {
				continue
			}
			if again, _ := schedule.Next(w.v); fmt.Sprintf("%T", again) == "schedule.Create" {
				t.Fatalf("seed %d, %s %s: %s, and at once %s", seed, text, zone, c, again)
			}
			if seen[c.Name] || running || c.For.After(w.at) || !c.For.After(begin) {
				t.Fatalf("seed %d, %s %s: %s at %s; one runs: %v; made before: %v", seed, text, zone, c, w.at, running, seen[c.Name])
			}
			seen[c.Name] = true
		}
	}
}

// TestEachNight holds that a backup of each night is made once, also in those nights in which the clock is changed.
func TestEachNight(t *testing.T) {
	for _, zone := range []string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		for _, text := range []string{"30 2 * * *", "15 2 * * *", "45 1 * * *", "0 3 * * *", "0 0 * * *"} {
			for _, change := range [][2]int{{3, 8}, {3, 29}, {4, 5}, {10, 4}, {10, 25}, {11, 1}} {
				eachNight(t, zone, text, time.Date(2026, time.Month(change[0]), change[1]-5, 12, 0, 0, 0, time.UTC))
			}
		}
	}
}

func eachNight(t *testing.T, zone, text string, begin time.Time) {
	w := world{v: schedule.View{Cluster: "a", Schedule: text, TimeZone: zone, Created: begin}}
	where, _ := time.LoadLocation(zone)
	days := map[string]int{}
	for w.at = begin; w.at.Before(begin.AddDate(0, 0, 10)); w.at = w.at.Add(15 * time.Minute) {
		if c, made := looked(&w).(schedule.Create); made {
			days[c.For.In(where).Format(time.DateOnly)]++
		}
	}
	for day := begin.AddDate(0, 0, 2); day.Before(begin.AddDate(0, 0, 8)); day = day.AddDate(0, 0, 1) {
		if n := days[day.Format(time.DateOnly)]; n != 1 {
			t.Errorf("%q in %q: %d backups on %s", text, zone, n, day.Format(time.DateOnly))
		}
	}
}

// TestRetentionKeeps holds for every mix: what must stay does, and what goes once goes for good.
func TestRetentionKeeps(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for seed := range uint64(5000) {
		random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // a walk that can be repeated
		all := mix(random, now)
		keep := schedule.Keep{
			Count: random.IntN(4), Daily: random.IntN(4), Weekly: random.IntN(3), Monthly: random.IntN(3), Yearly: random.IntN(2),
			Age: time.Duration(random.IntN(3)) * 30 * time.Hour,
		}
		gone, held := schedule.Expire(all, keep, time.UTC, now)
		if held != "" && len(gone) > 0 || keep == (schedule.Keep{}) && len(gone) > 0 {
			t.Fatalf("seed %d: %v go although %q", seed, gone, held)
		}
		check(t, seed, all, keep, gone, now)
	}
}

func mix(random *rand.Rand, now time.Time) []schedule.Made {
	var all []schedule.Made
	for i := range random.IntN(12) {
		at := now.Add(-time.Duration(i+12*random.IntN(60*2)) * time.Hour)
		m := schedule.Made{Name: fmt.Sprint("b", i), For: at, Created: at, Started: at, Complete: true, Proof: schedule.Proof(random.IntN(3))}
		switch random.IntN(8) {
		case 0:
			m.Complete, m.Failed, m.Proof, m.Started = false, true, schedule.Untried, time.Time{}
		case 1:
			m.Locked = now.Add(time.Hour)
		case 2:
			m.InUse = "it is restored"
		}
		all = append(all, m)
	}
	return all
}

func check(t *testing.T, seed uint64, all []schedule.Made, keep schedule.Keep, gone []schedule.Expired, now time.Time) {
	goes := func(m schedule.Made) bool {
		return slices.ContainsFunc(gone, func(g schedule.Expired) bool { return g.Name == m.Name })
	}
	newest := func(is func(schedule.Made) bool) (best schedule.Made) {
		for _, m := range all {
			if is(m) && (best.Name == "" || m.For.After(best.For)) {
				best = m
			}
		}
		return best
	}
	verified := newest(func(m schedule.Made) bool { return m.Proof == schedule.Verified })
	last := newest(func(schedule.Made) bool { return true })
	for _, m := range all {
		if goes(m) && (m.Name == verified.Name || m.InUse != "" || m.Locked.After(now) || m.Name == last.Name) {
			t.Fatalf("seed %d: %s goes", seed, m.Name)
		}
	}
	if len(gone) > 0 && (last.Failed || last.Proof == schedule.Unproven) {
		t.Fatalf("seed %d: %v go although the newest, %s, is not verified", seed, gone, last.Name)
	}
	rest := slices.DeleteFunc(slices.Clone(all), goes)
	if again, _ := schedule.Expire(rest, keep, time.UTC, now); len(again) > 0 {
		t.Fatalf("seed %d: once %v are gone, %v go", seed, gone, again)
	}
	left := slices.DeleteFunc(slices.Clone(rest), func(m schedule.Made) bool { return !m.Complete })
	complete := slices.DeleteFunc(slices.Clone(all), func(m schedule.Made) bool { return !m.Complete })
	if len(left) < min(keep.Count, len(complete)) {
		t.Fatalf("seed %d: %d are left, %d are wanted", seed, len(left), keep.Count)
	}
}
