// Copyright The etcd-operator Authors.
// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"testing"

	"github.com/etcd-operator/etcd-operator/internal/cluster/crash"
	"github.com/etcd-operator/etcd-operator/internal/etcd/process"
)

// Two members whose directories were emptied form the same cluster again while the third is
// away, if initial-cluster-state is new. When the third comes back, the leader has fewer
// entries than the third knows to be committed, and ends.
func TestFault20FormedAgain(t *testing.T) {
	ofAllVersions(t, func(t *testing.T, version string) {
		c := process.Run(t, version, 3)
		write(t, c, 10)
		before, emptied := c.Status("m3"), []string{"m1", "m2"}
		for _, name := range []string{"m1", "m2", "m3"} {
			c.Member(name).Stop()
		}
		for _, name := range emptied {
			loseAll(t, c.Member(name).Data)
			c.Member(name).Start(version, c.Joins("new", "m1", "m2", "m3")...)
		}
		c.Serves("m1")
		if now := c.Status("m1"); now.ClusterID != before.ClusterID || now.Revision >= before.Revision {
			t.Fatalf("the cluster is %x at revision %d, and was %x at %d", now.ClusterID, now.Revision, before.ClusterID, before.Revision)
		}
		if version == process.Versions[0] {
			return // it goes on without the third
		}
		for turn := 0; c.Status("m1").RaftTerm <= before.RaftTerm+1; turn++ { // or the third would win an election, and be believed
			c.Lead(emptied[(turn+1)%2])
			c.Lead(emptied[turn%2])
		}
		leader := c.Member(c.Leader())
		c.Member("m3").Start(version, c.Joins("existing", "m3")...)
		exitCode := leader.Ended()
		if got := crash.Why(exitCode, "Error", kept(leader.Log())); got != crash.Corrupt {
			t.Errorf("%s: %s, exit code %d after\n%s", leader.Name, got, exitCode, leader.Log())
		}
	})
}

// With no other member in initial-cluster, as once the cluster has formed, they end.
func TestFault20NothingForms(t *testing.T) {
	ofAllVersions(t, func(t *testing.T, version string) {
		c := process.Run(t, version, 3)
		for _, name := range []string{"m1", "m2", "m3"} {
			c.Member(name).Stop()
		}
		for _, name := range []string{"m1", "m2"} {
			m := c.Member(name)
			loseAll(t, m.Data)
			m.Start(version, c.Joins("existing", name)...)
			exitCode := m.Ended()
			if got := crash.Why(exitCode, "Error", kept(m.Log())); got != crash.Empty {
				t.Errorf("%s: %s, exit code %d after\n%s", name, got, exitCode, m.Log())
			}
			m.Start(version, "--initial-cluster=") // when the Pod's annotations are removed
			exitCode = m.Ended()
			if got := crash.Why(exitCode, "Error", kept(m.Log())); got == crash.Corrupt {
				t.Errorf("%s, without other members: %s, exit code %d after\n%s", name, got, exitCode, m.Log())
			}
		}
		alone := process.Run(t, version, 1)
		alone.Member("m1").Start(version, "--initial-cluster=")
		alone.Serves("m1") // on its data
	})
}
