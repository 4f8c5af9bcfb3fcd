// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster/crash"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// away is a cluster of three of which m1 is down, with a copy of its data. It
// was not the leader, so that the present leader still knows which entries it had.
type away struct {
	*process.Cluster
	t       *testing.T
	version string
	m1      *process.Member
	sound   string
}

func withoutM1(t *testing.T, version string) away {
	t.Helper()
	c := process.Run(t, version, 3)
	c.Lead("m2")
	write(t, c, keys)
	a := away{Cluster: c, t: t, version: version, m1: c.Member("m1"), sound: t.TempDir()}
	a.m1.Stop()
	copyData(t, a.m1.Data, a.sound)
	return a
}

// fence lets a member run on its data, and never join with none: it knows no
// other member that it could ask for the cluster.
func (a away) fence() []string { return a.Joins("existing", "m1") }

func (a away) all(state string) []string { return a.Joins(state, "m1", "m2", "m3") }

// after restores the data, damages it, and starts m1.
func (a away) after(do func(*testing.T, string), flags []string) {
	a.t.Helper()
	a.m1.Stop()
	loseAll(a.t, a.m1.Data)
	copyData(a.t, a.sound, a.m1.Data)
	do(a.t, a.m1.Data)
	a.m1.Start(a.version, flags...)
}

func (a away) ends(what string, want crash.Cause) {
	a.t.Helper()
	exitCode := a.m1.Ended()
	if got := crash.Why(exitCode, "Error", kept(a.m1.Log())); got != want {
		a.t.Errorf("%s: %s, want %s; exit code %d after\n%s", what, got, want, exitCode, a.m1.Log())
	}
}

// underOneLeader repeats what depends on that no other member becomes leader.
func (a away) underOneLeader(test func()) {
	a.t.Helper()
	for range 3 {
		term := a.Status("m2").RaftTerm
		if test(); a.Status("m2").RaftTerm == term {
			return
		}
	}
	a.t.Fatal("the leader changes all the time")
}

func TestFault18Fence(t *testing.T) {
	ofAllVersions(t, func(t *testing.T, version string) {
		a := withoutM1(t, version)

		a.after(nothing, a.fence())
		a.Serves("m1")

		a.after(loseAll, a.fence())
		a.ends("with no data", crash.Empty)
		a.m1.Start(version, a.fence()...)
		a.ends("the second time, when there is a database", crash.Empty)

		a.after(loseAll, a.all("new"))
		a.ends("as new", crash.Empty)

		// The others are down, and not asked.
		a.Member("m2").Stop()
		a.Member("m3").Stop()
		a.after(loseAll, a.fence())
		a.ends("with no data and no quorum", crash.Empty)
	})
}

// Without the fence a member that lost its data comes back with an empty log,
// and with a vote: an entry that it had acknowledged may be lost. It ends only
// while the leader remembers that it had the entry.
func TestFault18NoFence(t *testing.T) {
	ofAllVersions(t, func(t *testing.T, version string) {
		a := withoutM1(t, version)

		a.underOneLeader(func() {
			a.after(loseAll, a.all("existing"))
			a.ends("with no data", crash.Corrupt)
			a.m1.Start(version, a.fence()...)
			a.ends("the second time, when there is a log", crash.Corrupt)
		})

		a.m1.Stop()
		a.Lead("m3")
		a.after(loseAll, a.all("existing"))
		a.Serves("m1")
	})
}

// Data of another member or cluster is not noticed by etcd: it does not end.
// Its identity shows it.
func TestFault18ForeignData(t *testing.T) {
	ofAllVersions(t, func(t *testing.T, version string) {
		a := withoutM1(t, version)
		second := a.Status("m2")

		a.Member("m2").Stop()
		a.after(func(t *testing.T, data string) {
			loseAll(t, data)
			copyData(t, a.Member("m2").Data, data)
		}, a.fence())
		a.Serves("m1")
		if got := a.Status("m1"); got.MemberID != second.MemberID || got.ClusterID != second.ClusterID {
			t.Errorf("on the data of m2 it is %x of %x, want %x of %x", got.MemberID, got.ClusterID, second.MemberID, second.ClusterID)
		}

		other := process.Run(t, version, 1)
		write(t, other, 1)
		foreign := other.Status("m1")
		other.Member("m1").Stop()
		a.after(func(t *testing.T, data string) {
			loseAll(t, data)
			copyData(t, other.Member("m1").Data, data)
		}, a.fence())
		a.Serves("m1")
		if got := a.Status("m1"); got.ClusterID != foreign.ClusterID || got.ClusterID == second.ClusterID {
			t.Errorf("on the data of another cluster it is of %x, want %x", got.ClusterID, foreign.ClusterID)
		}
	})
}

// etcd takes a log that ends early for a torn one and repairs it. Only the
// leader knows that there was more.
func TestFault28LostEntries(t *testing.T) {
	ofAllVersions(t, func(t *testing.T, version string) {
		a := withoutM1(t, version)
		a.underOneLeader(func() {
			a.after(cutMiddleRecord, a.fence())
			a.ends("a log that ends early", crash.Corrupt)
			a.after(zeroMiddleOfLog, a.fence())
			a.ends("a log with a hole", crash.Corrupt)
		})
	})
}
