// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/etcd-operator/etcd-operator/internal/backup/schedule"
)

// TestSchedule runs the scripts in testdata. A script says when an operator looks, and prints what it does, with the rule that decides:
//
//	run schedule=(30 2 * * *) zone=Europe/Berlin created=TIME from=TIME until=TIME every=1h count=2 daily=7 ... (as spec.backup.retention)
//	down=(TIME, TIME)   the operator does not run in between
//	takes=3h            a backup is complete, and verified, so long after it was begun
//	deletes=3h          a backup is gone so long after it was deleted; if not given, at once
//	denies, appends     the store refuses each deletion; is known to delete nothing at all
//	ahead=(TIME, TIME, 48h)  the clock of the operator is so much ahead in between
//	suspended, obstacle
//
// and
//
//	expire count=3 daily=7 ...
//	NAME AGE verified|untried|unproven|failed|running|deleting|locked|used|seen=AGE ...
//
// If it fails, run with -rewrite and read the diff before you commit it.
func TestSchedule(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "expire" {
				return expire(t, d)
			}
			return run(t, d)
		})
	})
}

// A world is what an operator looks at.
type world struct {
	v       schedule.View
	at      time.Time // by the clock of the API server
	ahead   time.Duration
	takes   time.Duration
	deletes time.Duration
	denied  string               // why the store refuses to delete; empty if it does not
	deleted map[string]time.Time // by the name of the backup
}

// look takes one step.
func (w *world) look() (schedule.Step, string) {
	w.v.Now = w.at.Add(w.ahead)
	w.v.Made = slices.DeleteFunc(slices.Clone(w.v.Made), func(m schedule.Made) bool {
		return m.Deleting && m.Refused == "" && w.at.Sub(w.deleted[m.Name]) >= w.deletes
	})
	for i := range w.v.Made {
		m := &w.v.Made[i]
		if !m.Failed && !m.Complete && w.at.Sub(m.Created) >= w.takes {
			m.Complete, m.Proof, m.Started = true, schedule.Verified, m.Created
		}
	}
	step, rule := schedule.Next(w.v)
	switch s := step.(type) {
	case schedule.Create:
		w.v.Made = append(w.v.Made, schedule.Made{Name: s.Name, For: s.For, Created: w.at})
	case schedule.Delete:
		i := slices.IndexFunc(w.v.Made, func(m schedule.Made) bool { return m.Name == s.Name })
		w.v.Made[i].Deleting, w.v.Made[i].Refused = true, w.denied
		w.deleted[s.Name] = w.at
	case schedule.Rest:
	}
	return step, rule
}

func run(t *testing.T, d *datadriven.TestData) string {
	args := arguments(d)
	w := newWorld(t, args)
	until, pause := moment(t, args["until"][0]), length(t, args, "every", 10*time.Minute)
	var out strings.Builder
	told := ""
	for at := moment(t, args["from"][0]); !at.After(until); at = at.Add(pause) {
		if isBetween(t, at, args["down"]) {
			continue
		}
		w.at, w.ahead = at, 0
		if isBetween(t, at, args["ahead"]) {
			w.ahead, _ = time.ParseDuration(args["ahead"][2])
		}
		for range 10 {
			step, rule := w.look()
			text := fmt.Sprintf("%s (%s)", step, rule)
			if _, rests := step.(schedule.Rest); !rests {
				fmt.Fprintf(&out, "%s %s\n", at.Format("Mon 02 15:04"), text)
				continue
			}
			if rule != "nothing is due" && text != told {
				fmt.Fprintf(&out, "%s %s\n", at.Format("Mon 02 15:04"), text)
				told = text
			}
			break
		}
	}
	if next := schedule.Coming(w.v); !next.IsZero() {
		fmt.Fprintf(&out, "next %s\n", next.Format("Mon 02 15:04"))
	}
	return out.String()
}

func newWorld(t *testing.T, args map[string][]string) *world {
	has := func(name string) bool { _, there := args[name]; return there }
	w := &world{
		takes: length(t, args, "takes", 5*time.Minute), deletes: length(t, args, "deletes", 0), deleted: map[string]time.Time{},
		v: schedule.View{
			Cluster: "a", Schedule: strings.Join(args["schedule"], ","), TimeZone: strings.Join(args["zone"], ","),
			Suspended: has("suspended"), Keep: keep(t, args), Created: moment(t, args["from"][0]),
		},
	}
	if has("created") {
		w.v.Created = moment(t, args["created"][0])
	}
	if has("obstacle") {
		w.v.Obstacle = schedule.Obstacle{Reason: "StoreMissing", Message: "EtcdBackupStore offsite does not exist"}
	}
	if has("denies") {
		w.denied = "access denied"
	}
	if has("appends") {
		w.v.Kept = "access denied"
	}
	return w
}

func arguments(d *datadriven.TestData) map[string][]string {
	all := map[string][]string{}
	for _, arg := range d.CmdArgs {
		all[arg.Key] = arg.Vals
	}
	return all
}

func moment(t *testing.T, text string) time.Time {
	at, err := time.Parse("2006-01-02T15:04Z", text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func isBetween(t *testing.T, at time.Time, span []string) bool {
	return span != nil && !at.Before(moment(t, span[0])) && at.Before(moment(t, span[1]))
}

func length(t *testing.T, args map[string][]string, name string, otherwise time.Duration) time.Duration {
	if args[name] == nil {
		return otherwise
	}
	long, err := time.ParseDuration(args[name][0])
	if err != nil {
		t.Fatal(err)
	}
	return long
}

func keep(t *testing.T, args map[string][]string) schedule.Keep {
	k := schedule.Keep{Age: length(t, args, "age", 0)}
	for name, field := range map[string]*int{
		"count": &k.Count, "daily": &k.Daily, "weekly": &k.Weekly, "monthly": &k.Monthly, "yearly": &k.Yearly,
	} {
		if args[name] == nil {
			continue
		}
		n, err := strconv.Atoi(args[name][0])
		if err != nil {
			t.Fatal(err)
		}
		*field = n
	}
	return k
}

func expire(t *testing.T, d *datadriven.TestData) string {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var all []schedule.Made
	for _, line := range strings.Split(d.Input, "\n") {
		all = append(all, made(t, line, now))
	}
	gone, held := schedule.Expire(all, keep(t, arguments(d)), time.UTC, now)
	var out strings.Builder
	for _, g := range gone {
		fmt.Fprintf(&out, "%s: %s\n", g.Name, g.Because)
	}
	if held != "" {
		fmt.Fprintln(&out, held)
	}
	if out.Len() == 0 {
		return "all stay\n"
	}
	return out.String()
}

func made(t *testing.T, line string, now time.Time) schedule.Made {
	words := strings.Fields(line)
	ago := func(text string) time.Time {
		age, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return now.Add(-age)
	}
	at := ago(words[1])
	m := schedule.Made{Name: words[0], For: at, Created: at, Started: at, Complete: true, Proof: schedule.Verified}
	for _, word := range words[2:] {
		word, value, _ := strings.Cut(word, "=")
		switch word {
		case "seen":
			m.Created = ago(value)
		case "untried":
			m.Proof = schedule.Untried
		case "unproven":
			m.Proof = schedule.Unproven
		case "failed":
			m.Complete, m.Failed, m.Started, m.Proof = false, true, time.Time{}, schedule.Untried
		case "running":
			m.Complete, m.Started, m.Proof = false, time.Time{}, schedule.Untried
		case "deleting":
			m.Deleting = true
		case "locked":
			m.Locked = now.Add(time.Hour)
		case "used":
			m.InUse = "it is restored"
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	return m
}
