package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/etcd-operator/etcd-operator/internal/cluster"
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

// Next is the one step to take now. Making a backup comes before letting others go, and of these one goes at a time.
func Next(v View) Step {
	s, err := Parse(v.Schedule, v.TimeZone)
	switch {
	case err != nil:
		return Rest{ScheduleUnclear, "no backup is made: " + err.Error() + "; correct spec.backup"}
	case v.Suspended:
		return Rest{Suspended, "spec.backup.suspend is true: no backup is made, and none is deleted"}
	}
	last, was := v.last()
	due := s.Due(last, was, v.Now)
	switch {
	case due.IsZero() || v.running() != "":
	case v.Obstacle != Obstacle{}:
		return Rest{v.Obstacle.Reason, v.Obstacle.Message}
	default:
		return Create{Name: Name(v.Cluster, due), For: due}
	}
	if !v.mayDelete() {
		return Rest{}
	}
	if goers, _ := Expire(v.Made, v.Keep, s.Zone(), v.Now); len(goers) > 0 {
		return Delete{goers[0]}
	}
	return Rest{}
}

// mostRefused is how many backups may be on their way out that the store refuses to delete: each has a Job every ten minutes.
const mostRefused = 3

// mayDelete says whether another backup may go: one goes at a time, and what the store refuses holds up no other.
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
