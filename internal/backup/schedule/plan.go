// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
	"github.com/etcd-operator/etcd-operator/internal/rules"
)

// View is one observation of the schedule of a cluster: facts only.
type View struct {
	Cluster   string
	Created   time.Time // of the EtcdCluster: what was due before is not missed
	Schedule  string
	TimeZone  string
	Suspended bool
	Keep      Keep
	Obstacle  Obstacle // why no backup can be made
	Kept      string   // why the store deletes nothing at all, in its words; empty if it does
	Made      []Made
	Now       time.Time
}

// Obstacle is why no backup can be made now, and what is to be done; empty if one can.
type Obstacle struct{ Reason, Message string }

// Step is the one next thing to do. The set is closed, and String is the sentence that people read in logs, events and tests.
//
//sumtype:decl
type Step interface {
	fmt.Stringer
	step()
}

type (
	// Create creates the EtcdBackup of that name, which was due then.
	Create struct {
		Name string
		For  time.Time
	}
	// Delete deletes an EtcdBackup, and what is stored of it.
	Delete struct{ Expired }
	// Rest changes nothing. Reason and Because say why if that is not as wanted.
	Rest struct{ Reason, Because string }
)

func (Create) step() {}
func (Delete) step() {}
func (Rest) step()   {}

func (s Create) String() string { return fmt.Sprintf("create EtcdBackup %s", s.Name) }
func (s Delete) String() string { return fmt.Sprintf("delete EtcdBackup %s: %s", s.Name, s.Because) }

func (s Rest) String() string {
	if s.Because == "" {
		return "rest"
	}
	return "rest: " + s.Because
}

// Reasons of a Rest, and of the condition that quotes it.
const (
	Suspended       = "Suspended"
	ScheduleUnclear = "ScheduleUnclear"
)

var rule = rules.New[View, Step]

// The rules are asked in order: know the schedule, make what is due, and only then delete what is older.
var policy = rules.Of(
	rule("need a schedule", needSchedule, "neither makes nor deletes backups of a cluster without spec.backup.schedule"),
	rule("understand the schedule", understandSchedule, "makes no backup while the schedule or its time zone cannot be read"),
	rule("suspend", suspend, "neither makes nor deletes backups while spec.backup.suspend is true"),
	rule("wait for the cluster and the store", awaitObstacle,
		"makes no backup that is due before the cluster has formed, while it hibernates, or while the store is missing or not ready"),
	rule("create the backup", create,
		"creates the EtcdBackup that is due, unless one is being made; those that were missed are made up for once"),
	rule("delete one at a time", awaitDeletion,
		"deletes no other backup while one is being deleted, while the store refuses three, or if it deletes nothing at all"),
	rule("delete what has expired", deleteExpired,
		"deletes the oldest backup that spec.backup.retention does not keep, while the newest one is verified"),
)

// Next is the one step to take now, and the name of the rule that chose it.
func Next(v View) (Step, string) {
	if step, name := policy.Next(v); step != nil {
		return step, name
	}
	return Rest{}, "nothing is due"
}

func needSchedule(v View) Step {
	if v.Schedule != "" {
		return nil
	}
	return Rest{}
}

func understandSchedule(v View) Step {
	_, err := Parse(v.Schedule, v.TimeZone)
	if err == nil {
		return nil
	}
	return Rest{ScheduleUnclear, "no backup is made: " + err.Error() + "; correct spec.backup"}
}

func suspend(v View) Step {
	if !v.Suspended {
		return nil
	}
	return Rest{Suspended, "spec.backup.suspend is true: no backup is made, and none is deleted"}
}

func awaitObstacle(v View) Step {
	if v.Obstacle == (Obstacle{}) || v.due().IsZero() {
		return nil
	}
	return Rest{v.Obstacle.Reason, v.Obstacle.Message}
}

func create(v View) Step {
	due := v.due()
	if due.IsZero() {
		return nil
	}
	return Create{Name: Name(v.Cluster, due), For: due}
}

func awaitDeletion(v View) Step {
	if v.mayDelete() {
		return nil
	}
	return Rest{}
}

func deleteExpired(v View) Step {
	expired, _ := Expire(v.Made, v.Keep, v.parsed().Zone(), v.Now)
	if len(expired) == 0 {
		return nil
	}
	return Delete{expired[0]}
}

// parsed is the schedule, which the rules have found to be one.
func (v View) parsed() Schedule {
	s, _ := Parse(v.Schedule, v.TimeZone)
	return s
}

// due is the time for which a backup is to be made now; zero if there is none, or if one is being made.
func (v View) due() time.Time {
	if v.running() != "" {
		return time.Time{}
	}
	last, was := v.last()
	return v.parsed().Due(last, was, v.Now)
}

// mostRefused is how many backups may be on their way out that the store refuses to delete: each has a Job every ten minutes.
const mostRefused = 3

// mayDelete says whether another backup may be deleted: one at a time, and what the store refuses holds up no other.
func (v View) mayDelete() bool {
	isGoing := func(m Made) bool { return m.Deleting && m.Refused == "" }
	return v.Kept == "" && !slices.ContainsFunc(v.Made, isGoing) && len(v.refused()) < mostRefused
}

// refused are the backups that the store refuses to delete.
func (v View) refused() []Made {
	return slices.DeleteFunc(slices.Clone(v.Made), func(m Made) bool { return !m.Deleting || m.Refused == "" })
}

// Name is that of the backup that was due then. It is what makes it happen once.
func Name(of string, due time.Time) string {
	return cluster.BackupName(of, due.UTC().Format("20060102-1504"))
}

// last is for when the newest backup was, and whether there was one: if not, it is since when there is the cluster. A backup that was
// created at a time that has not come does not count.
func (v View) last() (last time.Time, was bool) {
	last = v.Created
	for _, m := range v.Made {
		if at := m.due(v.Now); at.After(last) && !at.After(v.Now) {
			last, was = at, true
		}
	}
	return last, was
}

// running is the backup that has not ended: no other is made beside it. It ends, because one of a schedule is given up some time.
func (v View) running() string {
	for _, m := range v.Made {
		if !m.Deleting && !m.Failed && !m.Complete {
			return m.Name
		}
	}
	return ""
}

// Coming is when the next backup is due; zero if none is, or while the schedule cannot be read or is suspended.
func Coming(v View) time.Time {
	s, err := Parse(v.Schedule, v.TimeZone)
	if err != nil || v.Suspended {
		return time.Time{}
	}
	last, was := v.last()
	return s.Coming(last, was, v.Now)
}
