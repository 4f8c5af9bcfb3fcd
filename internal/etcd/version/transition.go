// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import "github.com/etcd-operator/etcd-operator/internal/cluster"

// A Transition is what stands between the members of a cluster and the version that is wanted.
type Transition struct {
	Wanted cluster.Revision // the full version that the user wants, and the image that they have chosen for it
	// Running are the versions of the members that etcd lists, also of those that are down, in any order.
	Running []string
	Image   string // that the user has chosen for the newest of these

	Downgrade  string // minor version for which etcd's downgrade is enabled; empty if none is
	Answers    bool   // any member does
	LastTarget string // full version that members were last brought to
	Unmigrated string // member whose data etcd has yet to bring to its version, and why; empty if there is none
	Unproven   bool   // volumes were adopted, and their members were not seen to run
	Legacy     bool   // logs may hold requests in the form of etcd 3.5
	Cleansed   bool   // all members have dropped these
	Guarded    bool   // a backup is made before members change to another minor version
	Backed     string // minor version that a backup was made for
}

// Target is the next version on the way to the wanted one. Members run what they run until etcd
// is prepared for it. A downgrade is not even asked for before its data is of its own version: that
// it is of the older one would prove nothing then.
func (s Transition) Target() cluster.Target {
	t := Next(s.Wanted.Version, s.Running, s.Downgrade, s.Wanted.Image != "")
	to := t.Version
	if t.Downgrade != "" && !s.Answers && s.LastTarget == to {
		t.Downgrade = "" // it was enabled, and no member is there to report it
	}
	t.Before = s.before(t)
	up, legacy := goesUp(s.Running, to), s.Legacy && !ReadsLegacy(s.Wanted.Version)
	switch {
	case (up || t.Downgrade != "" || s.Downgrade == MinorOf(to)) && s.Unmigrated != "":
		t.Await = "etcd to prepare its data: " + s.Unmigrated
		t.Version = Highest(s.Running)
	case s.Unproven:
		t.Version = Wake(to, s.Running)
	case t.Before != "" && t.Before != s.Backed:
		t.Version, t.Downgrade = Highest(s.Running), ""
	case t.Downgrade != "", legacy && up && !ReadsLegacy(to) && !s.Cleansed:
		t.Version = Highest(s.Running)
	}
	t.DropLegacyEntries = legacy && MinorOf(t.Version) == lastLegacy
	switch {
	case t.Version == s.Wanted.Version:
		t.Image = s.Wanted.Image
	case s.Wanted.Image != "":
		t.Image = s.Image
	}
	return t
}

// lastLegacy is the last minor version that reads requests in the form of etcd 3.5. It
// replays those in its log from the last snapshot on, which may be the whole log.
// etcd 3.7 panics on one ("unmarshal should never fail"): its raft log may hold only
// requests of its own form (apply_v2.go of the server is gone in 3.7).
const lastLegacy = "3.6"

// ReadsLegacy says whether that full version of etcd reads requests in the form of etcd 3.5.
func ReadsLegacy(full string) bool { return MinorOf(full) == "3.5" || MinorOf(full) == lastLegacy }

// goesUp says whether a version is of a newer minor version than every member's.
func goesUp(running []string, to string) bool {
	highest := Highest(running)
	return highest != "" && Order(highest, to) < 0 && MinorOf(highest) != MinorOf(to)
}

// before is the minor version that no member runs yet, if a backup is to be made first. One that is on its way there goes on.
func (s Transition) before(t cluster.Target) string {
	to := MinorOf(t.Version)
	if !s.Guarded || s.Unproven || to == "" || len(s.Running) == 0 {
		return ""
	}
	for _, running := range s.Running {
		if MinorOf(running) == to {
			return ""
		}
	}
	return to
}
